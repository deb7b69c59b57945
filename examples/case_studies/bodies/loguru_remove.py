"""loguru 0.7.2, issue 1183: a message may fail with a RuntimeError while all handlers are removed."""

from loguru._logger import Core, Logger

from kcache import testing as kt


def messages_are_logged_while_handlers_go():
    logger = Logger(Core(), None, 0, False, False, False, False, True, [], {})
    for _ in range(2):
        logger.add(lambda message: None, format="{message}", catch=False)
    kt.run(logger.remove, lambda: logger.info("hello"))
