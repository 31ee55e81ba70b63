"""Words of messages: places of rows, and kinds of files. Nothing here raises or reads."""
