"""pykka 4.5.0: a question to an actor that is being stopped may never be answered."""

from pykka import ActorDeadError, ThreadingActor

from kcache import testing as kt


def every_question_ends():
    actor = ThreadingActor.start()

    def ask():
        try:
            actor.ask("anybody there?")
        except ActorDeadError:
            pass

    kt.run(ask, lambda: actor.stop(block=False))
