"""Pages that stand alone in one file: a recording, the heads of a model, the lesson."""
