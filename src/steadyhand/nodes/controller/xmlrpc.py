"""Bodies of calls ⇄ bodies of answers. Any bytes at all get an answer; none gets an exception."""

import xmlrpc.client
from typing import Any, Final

from steadyhand.nodes.controller.box import ControlBox
from steadyhand.nodes.controller.methods import ParameterError, PowerOffError, call

FAULT_TYPE: Final = -501
FAULT_PARSE: Final = -503
FAULT_NO_SUCH_METHOD: Final = -506
"""Numbers of the xmlrpc-c library, which the controller is seen to answer with."""


def answer(box: ControlBox, body: bytes) -> bytes | None:
    """The answer to one call; None where nobody is left to answer."""
    # A document type could declare entities that grow to gigabytes; no call carries one.
    if b"<!" in body:
        return _fault(FAULT_PARSE, "a document type is not accepted")
    try:
        parameters, method = xmlrpc.client.loads(body)
    except Exception as error:
        # The parser raises half a dozen kinds, depending on where the bytes go wrong.
        return _fault(FAULT_PARSE, f"not an XML-RPC call ({type(error).__name__})")
    box.answers["calls"] += 1
    try:
        value: Any = call(box, str(method), parameters)
    except KeyError:
        return _fault(FAULT_NO_SUCH_METHOD, f"method {str(method)[:64]!r} not defined")
    except ParameterError as error:
        return _fault(FAULT_TYPE, str(error))
    except PowerOffError:
        return None
    return xmlrpc.client.dumps((value,), methodresponse=True).encode()


def _fault(code: int, text: str) -> bytes:
    return xmlrpc.client.dumps(xmlrpc.client.Fault(code, text), methodresponse=True).encode()
