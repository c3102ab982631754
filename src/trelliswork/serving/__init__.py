"""A model behind HTTP: JSON questions and answers, and a page to look at what the model thinks (extra ``serve``).

    app = trelliswork.serving.application("recipes.tw")     # an ASGI application, for any server of these
    trelliswork.serving.serve("recipes.tw", port=8000)      # the same under uvicorn; `trelliswork serve` at the shell

====================  =============================================================================================
``requests.py``       what may be asked: the bodies of requests, checked as they are read
``labels.py``         what a model that labels tokens answers
``trees.py``          what a parser answers
``limits.py``         how much one request may cost, and the threads in which long ones are answered
``asgi.py``           routes: from a request to an answer or an error
``description.py``    the OpenAPI description and its page, made from ``requests.py``
``connections.py``    connections that are closed when their client is too slow
``page/``             the page, without a resource from outside
====================  =============================================================================================
"""

from trelliswork.lazy import attach

_HOMES = {
    "serving.asgi": ("application", "serve"),
    "serving.limits": ("Limits",),
}
__getattr__, __dir__, __all__ = attach(__name__, _HOMES)
