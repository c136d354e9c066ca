"""The app: a local web server whose page shows the attention of a model on the reader's own text."""
