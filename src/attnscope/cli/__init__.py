"""The `attnscope` command: click, one file a command, each imported only when it is called."""
