"""A page: one self-contained HTML file with the calls in time, an order, and the first call it cannot explain."""

from .cutting import MOST_CALLS
from .from_finding import page_of_finding, picture_of_finding
from .from_history import HEADLINES, page_of_history, picture_of_history
from .picture import Detail, Page, Picture, Table
from .write import page_text, write_page

__all__ = [
    "HEADLINES",
    "MOST_CALLS",
    "Detail",
    "Page",
    "Picture",
    "Table",
    "page_of_finding",
    "page_of_history",
    "page_text",
    "picture_of_finding",
    "picture_of_history",
    "write_page",
]
