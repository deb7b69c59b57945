"""pykka 4.5.0, unmended: a question to an actor that is being stopped may never be answered."""

import contextlib

from pykka import ActorDeadError, ThreadingActor

from kcache import testing as kt


def every_question_ends():
    actor = ThreadingActor.start()

    def ask():
        with contextlib.suppress(ActorDeadError):
            actor.ask("anybody there?")

    kt.run(ask, lambda: actor.stop(block=False))
