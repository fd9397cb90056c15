"""The neural family: reflection tasks and insights."""
