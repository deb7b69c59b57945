"""Where objects come from: a type, a schema, samples, a strategy, or what the function asks for."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kcache_model.target import TargetError
from kcache_stress.loading import load_object

from .reading import Reading
from .reading.probe import Node, probe
from .shapes.default import default_shape
from .shapes.from_samples import read_samples, shape_of_samples
from .shapes.from_schema import shape_of_schema
from .shapes.from_types import shape_of_type
from .shapes.shape import Given, Shape, ShapeError
from .subject import Subject


@dataclass(frozen=True)
class Sources:
    """At most one of these; with none, the function's annotation, then what it asks of its argument.

    Attributes:
        object_type: ``module:Class`` or ``file.py:Class``.
        schema: a file with a JSON Schema, an OpenAPI document or a CustomResourceDefinition.
        schema_name: which schema of that document.
        samples: files or folders with manifests, YAML or JSON.
        strategy: ``module:name`` or ``file.py:name`` of a Hypothesis strategy, or of a function that returns one.
        asks: find out what the function asks of its argument by passing it an object that agrees to everything.
        given: a type or a strategy itself; such objects are made in this process only.
    """

    object_type: str | None = None
    schema: str | None = None
    schema_name: str | None = None
    samples: tuple[str, ...] = ()
    strategy: str | None = None
    asks: bool = True
    given: Any = field(default=None, compare=False)

    def shape(self, subject: Subject, reading: Reading) -> Shape:
        """What the objects look like.

        Raises:
            TargetError: there is no such type, schema, sample or strategy, or no objects can be made of it.
        """
        try:
            return self._shape(subject, reading)
        except ShapeError as error:
            raise TargetError(str(error)) from error
        except UnicodeDecodeError as error:
            raise TargetError(f"{self.schema or self.samples} is no text: {error}") from error
        except RecursionError as error:
            raise TargetError("it is nested too deeply to make objects of it") from error
        except OSError as error:
            raise TargetError(f"{error.filename}: {error.strerror}") from error

    def _shape(self, subject: Subject, reading: Reading) -> Shape:
        if self.given is not None:
            return given_shape(self.given)
        if self.object_type is not None:
            return shape_of_type(load_object(self.object_type, wanted="Class"))
        if self.schema is not None:
            return shape_of_schema(_document(Path(self.schema)), self.schema_name)
        if self.samples:
            samples = read_samples([Path(path) for path in self.samples])
            if not any(isinstance(sample, dict) for sample in samples):
                raise ShapeError(f"{', '.join(self.samples)}: there is no manifest in it")
            return shape_of_samples(samples)
        if self.strategy is not None:
            return given_shape(load_object(self.strategy, wanted="strategy"))
        if subject.annotation is not None:
            try:
                return shape_of_type(subject.annotation)
            except ShapeError:
                pass  # the annotation may be a protocol or the like; what the code asks for says more
        if not self.asks:
            return default_shape(reading, Node())
        return default_shape(reading, probe(subject.function), subject.function)


def given_shape(given: Any) -> Shape:
    """The shape of a type, or of a strategy, or of a function that returns a strategy.

    Raises:
        ShapeError: it is none of these.
    """
    from hypothesis.strategies import SearchStrategy

    if isinstance(given, SearchStrategy):
        return Given(given)
    if callable(given) and not isinstance(given, type):
        made = given()
        if isinstance(made, SearchStrategy):
            return Given(made)
        raise ShapeError(f"{given!r} returned a {type(made).__name__}, not a Hypothesis strategy")
    return shape_of_type(given)


def _document(path: Path) -> Any:
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".json":
        try:
            document = json.loads(text)
        except ValueError as error:
            raise ShapeError(f"{path} is no JSON: {error}") from error
        if not isinstance(document, dict):
            raise ShapeError(f"{path} must hold a schema, which is a JSON object")
        return document
    documents = read_samples([path])
    if len(documents) != 1 or not isinstance(documents[0], dict):
        raise ShapeError(f"{path} must hold one schema; it holds {len(documents)} documents")
    return documents[0]
