"""loguru 0.2.3, issue 22: a message may fail with a RuntimeError while a handler is added."""

from loguru import logger

from kcache import testing as kt


def handlers_are_added_while_messages_are_logged():
    logger.remove()
    logger.add(lambda message: None, format="{message}", catch=False)
    kt.run(lambda: logger.info("hello"), lambda: logger.add(lambda message: None, format="{message}", catch=False))
    logger.remove()
