"""Sources of objects: a type, a JSON schema, samples, a strategy, or the function's accesses."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kcache_model.errors import TargetError
from kcache_stress.loading import load_object

from .schemas.default import default_schema
from .schemas.from_json_schema import schema_of_json_schema
from .schemas.from_samples import schema_of_samples
from .schemas.from_types import schema_of_type
from .schemas.sample_files import read_samples
from .schemas.schema import Given, Schema, SchemaError
from .static_analysis import Reading
from .subject import Subject
from .tracing.probe import Node, probe


@dataclass(frozen=True)
class Sources:
    """The user's source of objects, at most one; by default the function's annotation, then its accesses.

    Attributes:
        object_type: ``module:Class`` or ``file.py:Class``.
        json_schema: a file with a JSON Schema, an OpenAPI document or a CustomResourceDefinition.
        json_schema_name: the name of the JSON schema in that document.
        samples: files or folders with manifests, YAML or JSON.
        strategy: ``module:name`` or ``file.py:name`` of a Hypothesis strategy, or of a function that returns one.
        asks: whether to record the function's accesses by a call with a probe, which supports every access.
        type_or_strategy: a type or a strategy itself; its objects are created only in this process.
    """

    object_type: str | None = None
    json_schema: str | None = None
    json_schema_name: str | None = None
    samples: tuple[str, ...] = ()
    strategy: str | None = None
    asks: bool = True
    type_or_strategy: Any = field(default=None, compare=False)

    def are_guessed(self, subject: Subject) -> bool:
        """Whether there is neither a source nor an annotation, so that the function's accesses decide."""
        sources = (self.type_or_strategy, self.object_type, self.json_schema, self.strategy)
        return all(one is None for one in sources) and not self.samples and subject.annotation is None

    def schema(self, subject: Subject, reading: Reading) -> Schema:
        """Return the schema of the objects.

        Raises:
            TargetError: the type, JSON schema, sample or strategy does not exist, or allows no objects.
        """
        try:
            return self._schema(subject, reading)
        except SchemaError as error:
            raise TargetError(str(error)) from error
        except UnicodeDecodeError as error:
            raise TargetError(f"{self.json_schema or self.samples} is not text: {error}") from error
        except RecursionError as error:
            raise TargetError("the source of objects is nested too deeply") from error
        except OSError as error:
            raise TargetError(f"{error.filename}: {error.strerror}") from error

    def _schema(self, subject: Subject, reading: Reading) -> Schema:
        if self.type_or_strategy is not None:
            return schema_of_source(self.type_or_strategy)
        if self.object_type is not None:
            return schema_of_type(load_object(self.object_type, wanted="Class"))
        if self.json_schema is not None:
            return schema_of_json_schema(_document(Path(self.json_schema)), self.json_schema_name)
        if self.samples:
            samples = read_samples([Path(path) for path in self.samples])
            if not any(isinstance(sample, dict) for sample in samples):
                raise SchemaError(f"{', '.join(self.samples)} contains no manifest")
            return schema_of_samples(samples)
        if self.strategy is not None:
            return schema_of_source(load_object(self.strategy, wanted="strategy"))
        if subject.annotation is not None:
            return schema_of_type(subject.annotation)
        if not self.asks:
            return default_schema(reading, Node())
        return default_schema(reading, probe(subject.function), subject.function)


def schema_of_source(source: Any) -> Schema:
    """Return the schema of a type, of a strategy, or of a function that returns a strategy.

    Raises:
        SchemaError: ``source`` is none of these.
    """
    from hypothesis.strategies import SearchStrategy

    if isinstance(source, SearchStrategy):
        return Given(source)
    if callable(source) and not isinstance(source, type):
        strategy = source()
        if isinstance(strategy, SearchStrategy):
            return Given(strategy)
        raise SchemaError(f"{source!r} returned a {type(strategy).__name__}, not a Hypothesis strategy")
    return schema_of_type(source)


def _document(path: Path) -> Any:
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".json":
        try:
            document = json.loads(text)
        except ValueError as error:
            raise SchemaError(f"{path} is not JSON: {error}") from error
        if not isinstance(document, dict):
            raise SchemaError(f"{path} must contain a schema, which is a JSON object")
        return document
    documents = read_samples([path])
    if len(documents) != 1 or not isinstance(documents[0], dict):
        raise SchemaError(f"{path} must contain one schema; it contains {len(documents)} documents")
    return documents[0]
