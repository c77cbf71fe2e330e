"""An MCP server with one tool that needs the user's GitHub account.

settings.py   the environment
door.py       who is calling: the check of access tokens
connect.py    from a call to the user's credential: the one part that knows Consentry
github.py     the tool
__main__.py   puts them together
"""
