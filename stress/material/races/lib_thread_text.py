import threading
def make():
    return threading.Thread(name="idle")
def work(thread):
    thread.name = "busy"
    thread.name = "idle"
def look(thread):
    return "busy" in repr(thread), "busy" in repr(thread)
def check(thread, results):
    return "a busy thread is shown" if results[1] == (True, False) else None
THREADS = [work, look]
