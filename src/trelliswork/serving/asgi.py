"""Routes: from a request to an answer, or to an error that says what was wrong.

    request --limits--> body --requests.py--> sentence --labels.py or trees.py--> answer --JSON--> response

Short questions are answered where they arrive, long ones in threads (`limits.Workers`): the model never changes, so any
number may ask it at once. Nothing is kept from one request to the next but counts.
"""

from __future__ import annotations

import asyncio
import os
import time
import warnings
from collections.abc import Awaitable, Callable
from contextlib import asynccontextmanager
from importlib import resources
from typing import Any

import msgspec
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector, generate_latest
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from trelliswork import models
from trelliswork.errors import InvalidInput, TrellisworkError, UncalibratedScores, UnknownAttributes
from trelliswork.estimators.loading import restored
from trelliswork.serving.description import described, description_page
from trelliswork.serving.labels import LabelAnswers
from trelliswork.serving.limits import Busy, Limits, TooLate, TooMuch, Workers, require_at_most
from trelliswork.serving.requests import Batch, Explain, KBest, Sentence
from trelliswork.serving.trees import ConstituentAnswers, DependencyAnswers

__all__ = ["QUESTIONS", "application", "serve"]

ANSWERS: dict[str, type[Any]] = {
    "sequence-labeler": LabelAnswers,
    "segment-labeler": LabelAnswers,
    "committee": LabelAnswers,
    "dependency-parser": DependencyAnswers,
    "constituency-parser": ConstituentAnswers,
}
# Path -> the body of the request, and what the answer is.
QUESTIONS: dict[str, tuple[type[Any], str]] = {
    "/tag": (Sentence, "The best labels, or the best tree."),
    "/batch": (Batch, "The same for many sentences."),
    "/kbest": (KBest, "The k best answers with their log-probabilities."),
    "/marginals": (Sentence, "Probabilities of every label of every token, or of every arc or constituent."),
    "/explain": (Explain, "Why: attributes, and what each adds to the score of the answer."),
    "/analyse": (Sentence, "Everything that the page shows."),
}
PAGE = {"/": "index.html", "/page.js": "page.js", "/page.css": "page.css"}
LOOPBACK = ("127.0.0.1", "localhost", "[::1]", "::1")
JSON = "application/json"
TYPES = {"html": "text/html; charset=utf-8", "js": "text/javascript; charset=utf-8", "css": "text/css; charset=utf-8"}
SOURCES = "default-src 'self'; img-src 'self' data:; style-src 'self' 'unsafe-inline'; frame-ancestors 'none'"
HEADERS = {
    "x-content-type-options": "nosniff",
    "content-security-policy": SOURCES,
    "referrer-policy": "no-referrer",
}


def application(
    model: Any, *, limits: Limits | None = None, hosts: list[str] | None = None, name: str | None = None
) -> Starlette:
    """Return an ASGI application that answers questions about a model.

    Parameters
    ----------
    model : path or bytes
        A model file, as `trelliswork.load` takes it.
    limits : Limits, optional
        How much one request may cost.
    hosts : list of str, optional
        Names under which the application may be asked for; requests for another ``Host`` are refused, so that no page
        from elsewhere can reach it through a name of its own. Left out, any.
    name : str, optional
        What the page calls the model; its file name if left out.

    Returns
    -------
    starlette.applications.Starlette
    """
    data, path = models.contents(model)
    tensors, settings = models.loads_any(data, path)
    answers = ANSWERS.get(settings.get("kind", "sequence-labeler"))
    if answers is None:
        raise InvalidInput(f"{path}: a model of the kind {settings['kind']!r} cannot be served; use tw.load in Python.")
    if settings.get("templates") is None and not settings.get("members"):
        raise InvalidInput(f"{path}: this model looks at attributes made in Python, which no request has.")
    estimator = restored(tensors, settings, path)
    estimator.n_jobs = 1
    return _Application(answers(estimator, settings), limits or Limits(), name or os.path.basename(path)).asgi(hosts)


def serve(
    model: Any,
    *,
    host: str = "127.0.0.1",
    port: int = 8000,
    workers: int = 1,
    limits: Limits | None = None,
    log_level: str = "info",
) -> None:
    """Serve a model until interrupted.

    Parameters
    ----------
    model : path
        A model file. It is mapped: several workers share one copy.
    host : str
        Where to listen: by default only this machine can reach the server.
    port : int
        0 takes any that is free.
    workers : int
        Processes.
    limits : Limits, optional
        How much one request may cost.
    log_level : str
        As for uvicorn.
    """
    import uvicorn

    from trelliswork.serving.connections import impatient

    limits = limits or Limits()
    common: dict[str, Any] = {
        "host": host,
        "port": port,
        "http": impatient(limits.seconds),
        "ws": "none",
        "lifespan": "on",
        "access_log": False,
        "log_level": log_level,
        "limit_concurrency": limits.connections,
        "timeout_keep_alive": max(1, int(limits.seconds)),
        "timeout_graceful_shutdown": max(1, int(limits.seconds)),
        "server_header": False,
    }
    hosts = [*LOOPBACK, host] if host in LOOPBACK else None
    if workers == 1:
        uvicorn.run(application(model, limits=limits, hosts=hosts), **common)
        return
    application(model, limits=limits)  # what is wrong with the model is said once, here
    os.environ[_SETTINGS] = msgspec.json.encode(
        {"model": os.fspath(model), "limits": vars(limits), "hosts": hosts}
    ).decode()
    uvicorn.run("trelliswork.serving.asgi:_of_worker", factory=True, workers=workers, **common)


_SETTINGS = "TRELLISWORK_SERVING"


def _of_worker() -> Starlette:
    """Return the application of one of several processes."""
    given = msgspec.json.decode(os.environ[_SETTINGS])
    return application(given["model"], limits=Limits(**given["limits"]), hosts=given["hosts"])


class _Problem(Exception):
    """What is answered in place of an answer."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class _Application:
    """A model, its limits and its counts."""

    def __init__(self, answers: Any, limits: Limits, name: str) -> None:
        self._answers, self._limits, self._name = answers, limits, name
        self._workers = Workers(limits)
        self._decoders = {body: msgspec.json.Decoder(body) for body, _ in QUESTIONS.values()}
        self._encode = msgspec.json.Encoder().encode
        self._openapi = self._encode(described(QUESTIONS))
        self._counts = _Counts()

    def asgi(self, hosts: list[str] | None) -> Starlette:
        """Return the application."""
        routes = [Route(path, self._question(path), methods=["POST"]) for path in QUESTIONS]
        routes += [Route(path, self._file(file), methods=["GET"]) for path, file in PAGE.items()]
        routes += [
            Route("/model", self._said(lambda: self._encode(self._described()), JSON)),
            Route("/openapi.json", self._said(lambda: self._openapi, JSON)),
            Route("/docs", self._said(lambda: description_page(QUESTIONS).encode(), TYPES["html"])),
            Route("/health", self._said(lambda: b'{"status":"ok"}', JSON)),
            Route("/metrics", self._said(self._counts.text, "text/plain; version=0.0.4; charset=utf-8")),
        ]
        trusted = [Middleware(TrustedHostMiddleware, allowed_hosts=hosts, www_redirect=False)] if hosts else []

        @asynccontextmanager
        async def lifespan(app: Starlette) -> Any:
            with warnings.catch_warnings():
                # Told in the description of the model, and for every request anew.
                warnings.simplefilter("ignore", UncalibratedScores)
                warnings.simplefilter("ignore", UnknownAttributes)
                yield
            self._workers.close()

        failures: dict[Any, Any] = {404: _not_found, 405: _not_allowed}
        return Starlette(routes=routes, middleware=trusted, lifespan=lifespan, exception_handlers=failures)

    def _described(self) -> dict[str, Any]:
        most = {name: value for name, value in vars(self._limits).items() if name in ("tokens", "sentences", "k")}
        return {"name": self._name, **self._answers.description(), "limits": most}

    # ---- one request -----------------------------------------------------------------------------------------------

    def _question(self, path: str) -> Callable[[Request], Awaitable[Response]]:
        decoder = self._decoders[QUESTIONS[path][0]]
        answer = getattr(self._answers, path[1:])

        async def respond(request: Request) -> Response:
            began = time.perf_counter()
            try:
                body = _decoded(decoder, await self._body(request))
                content, status = await self._answer(answer, body), 200
            except ClientDisconnect:
                content, status = b"", 499
            except _Problem as problem:
                content, status = self._encode({"error": str(problem)}), problem.status
            self._counts.add(path, status, time.perf_counter() - began)
            headers = {**HEADERS, "retry-after": "1"} if status == 503 else HEADERS
            return Response(content, status, headers, JSON)

        return respond

    async def _body(self, request: Request) -> bytes:
        """Return the body of a request, if it is not too large and comes in time."""
        if request.headers.get("content-type", "").partition(";")[0].strip().lower() != JSON:
            raise _Problem(415, f"send JSON, with the header Content-Type: {JSON}.")
        most, parts, size = self._limits.body, [], 0
        length = request.headers.get("content-length", "0")
        too_large = _Problem(413, f"the request is larger than the {most} bytes that this server takes.")
        if length.isdigit() and int(length) > most:
            raise too_large
        try:
            async with asyncio.timeout(self._limits.seconds):
                async for part in request.stream():
                    size += len(part)
                    if size > most:
                        raise too_large
                    parts.append(part)
        except TimeoutError:
            raise _Problem(408, "the request did not arrive in time.") from None
        return b"".join(parts)

    async def _answer(self, answer: Callable[..., Any], body: Any) -> bytes:
        try:
            work, cost = self._work(answer, body)
            return await self._workers.run(lambda: self._encode(work()), cost)
        except TooMuch as error:
            raise _Problem(413, str(error)) from None
        except Busy:
            raise _Problem(503, "too many requests are waiting: try again in a moment.") from None
        except TooLate:
            raise _Problem(503, f"no answer within {self._limits.seconds:g} seconds: ask for less.") from None
        except (TrellisworkError, ValueError) as error:  # a lone surrogate is a ValueError
            raise _Problem(422, str(error)) from None

    def _work(self, answer: Callable[..., Any], body: Any) -> tuple[Callable[[], Any], float]:
        """Return what is to be done for a request, and about how long it takes."""
        answers, most = self._answers, self._limits
        sentences = body.sentences if isinstance(body, Batch) else [body]
        require_at_most(len(sentences), most.sentences, "sentences")
        tokens = [answers.read(sentence) for sentence in sentences]
        require_at_most(sum(map(len, tokens)), most.tokens, "tokens")
        require_at_most(getattr(body, "k", 1), most.k, "best answers")
        cost = sum(answers.cost(len(own)) for own in tokens) * getattr(body, "k", 1)
        self._counts.tokens.inc(sum(map(len, tokens)))
        if isinstance(body, Batch):
            return lambda: answer(sentences, tokens), cost
        return lambda: answer(body, tokens[0]), cost

    # ---- what is always the same -----------------------------------------------------------------------------------

    def _file(self, file: str) -> Callable[[Request], Awaitable[Response]]:
        content = (resources.files("trelliswork.serving") / "page" / file).read_bytes()
        return self._said(lambda: content, TYPES[file.rpartition(".")[2]])

    def _said(self, content: Callable[[], bytes], kind: str) -> Callable[[Request], Awaitable[Response]]:
        async def respond(request: Request) -> Response:
            return Response(content(), 200, HEADERS, kind)

        return respond


class _Counts:
    """What /metrics tells, as Prometheus reads it."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        ProcessCollector(registry=self._registry)
        more: dict[str, Any] = {"registry": self._registry, "namespace": "trelliswork"}
        self._requests = Counter("requests", "Requests by path and status.", ("path", "status"), **more)
        self._seconds = Histogram(
            "request_seconds",
            "Time from the head of a request to its answer.",
            ("path",),
            buckets=(0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.5, 1, 5),
            **more,
        )
        self.tokens = Counter("tokens", "Tokens in requests.", **more)
        Gauge("start_time_seconds", "When this process began.", **more).set_to_current_time()

    def add(self, path: str, status: int, seconds: float) -> None:
        """Count a request."""
        self._requests.labels(path, status).inc()
        self._seconds.labels(path).observe(seconds)

    def text(self) -> bytes:
        """Return the counts."""
        text: bytes = generate_latest(self._registry)
        return text


def _decoded(decoder: msgspec.json.Decoder[Any], body: bytes) -> Any:
    try:
        return decoder.decode(body)
    except (msgspec.MsgspecError, RecursionError, ValueError) as error:
        wrong = "is nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise _Problem(400, f"the body of the request: {wrong}") from None


async def _not_found(request: Request, error: Exception) -> Response:
    paths = ", ".join([*QUESTIONS, "/model", "/docs", "/health", "/metrics"])
    return Response(
        msgspec.json.encode({"error": f"there is no {request.url.path}; there are {paths}."}), 404, HEADERS, JSON
    )


async def _not_allowed(request: Request, error: Exception) -> Response:
    told = "POST" if request.url.path in QUESTIONS else "GET"
    return Response(
        msgspec.json.encode({"error": f"{request.url.path} is asked by {told}."}), 405, {**HEADERS, "allow": told}, JSON
    )
