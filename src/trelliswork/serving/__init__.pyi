# Written by `make stubs` from __init__.py.
from trelliswork.serving.asgi import application as application
from trelliswork.serving.asgi import serve as serve
from trelliswork.serving.limits import Limits as Limits

__all__ = ["Limits", "application", "serve"]
