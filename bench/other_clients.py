"""How long another client waits while somebody sends what is heavy, wrong or hostile.

    .venv/bin/python bench/other_clients.py [ROW ...]

Each row is one request, sent once; meanwhile another process reads a namespace, again and again, over a connection of
its own. `nothing` is the machine without it. Times are in milliseconds; figures of a busy machine say little.
"""

import argparse
import http.client
import json
import multiprocessing
import shutil
import ssl
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import yaml

http.client._MAXHEADERS = 1_000  # Kubernetes answers with a hundred warnings, and Python takes a hundred headers in all

MAPS = "/api/v1/namespaces/default/configmaps"
POLICIES = "/apis/admissionregistration.k8s.io/v1"
JSON, YAML = "application/json", "application/yaml"
NINE = "[1,2,3,4,5,6,7,8,9]"
LONG = f"{NINE}.all(a, {NINE}.all(b, {NINE}.all(c, {NINE}.all(d, {NINE}.all(e, a < 10)))))"


class Client:
    def __init__(self, kubeconfig: dict) -> None:
        self._kubeconfig = kubeconfig
        server = kubeconfig["clusters"][0]["cluster"]["server"]
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        self._connection = http.client.HTTPSConnection(server.removeprefix("https://"), context=context, timeout=300)
        self._headers = {"Authorization": "Bearer " + kubeconfig["users"][0]["user"]["token"]}

    def send(self, method: str, path: str, body: object = None, content_type: str = JSON, agent: str = "bench") -> int:
        if body is not None and not isinstance(body, bytes | str):
            body = json.dumps(body)
        headers = {**self._headers, "Content-Type": content_type, "User-Agent": agent}
        self._connection.request(method, path, body, headers)
        answer = self._connection.getresponse()
        answer.read()
        return answer.status


Row = Callable[[Client], int]


def nothing(_: Client) -> int:
    time.sleep(1)
    return 200


def copies(client: Client) -> int:
    client.send("POST", MAPS, {"metadata": {"name": "copies"}, "data": {"a": "b"}})
    patch = [{"op": "copy", "from": "/data", "path": f"/data/c{n}"} for n in range(40)]
    return client.send("PATCH", f"{MAPS}/copies", patch, "application/json-patch+json")


def parameters(client: Client) -> int:
    return client.send("GET", "/version?" + "&".join(["a=1"] * 101))


def large_yaml(client: Client) -> int:
    return client.send("POST", MAPS, map_in_yaml("yaml", 250_000), YAML)


def keys_twice(client: Client) -> int:
    members = ",".join(f'"k{n}":"v"' for n in [*range(60_000)] * 2)
    return client.send("POST", MAPS, '{"metadata":{"name":"twice"},"data":{' + members + "}}")


def keys_applied(client: Client) -> int:
    body = map_in_yaml("applied", 200_000)
    return client.send("PATCH", f"{MAPS}/applied?fieldManager=bench", body, "application/apply-patch+yaml")


def unknown_fields(client: Client) -> int:
    return client.send("POST", MAPS, {"metadata": {"name": "unknown"}, **{f"u{n}": 1 for n in range(200)}})


def grown(client: Client) -> int:
    client.send("POST", MAPS, {"metadata": {"name": "grown"}})
    for part in range(10):
        body = {"data": {f"k{part}": "x" * 500_000}}
        status = client.send("PATCH", f"{MAPS}/grown", body, "application/merge-patch+json")
    return status


def nested(client: Client) -> int:
    return client.send("POST", MAPS, '{"metadata":' + '{"a":' * 20_000 + "1" + "}" * 20_000 + "}")


def circle(client: Client) -> int:
    uids = []
    for name in ("round", "about"):
        client.send("POST", MAPS, {"metadata": {"name": name}})
        uids.append(client_uid(client, name))
    for name, owner, uid in (("round", "about", uids[1]), ("about", "round", uids[0])):
        reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": owner, "uid": uid, "blockOwnerDeletion": True}
        body = {"metadata": {"ownerReferences": [reference]}}
        client.send("PATCH", f"{MAPS}/{name}", body, "application/merge-patch+json")
    return client.send("DELETE", f"{MAPS}/round?propagationPolicy=Foreground")


def client_uid(client: Client, name: str) -> str:
    client._connection.request("GET", f"{MAPS}/{name}", headers=client._headers)
    return json.loads(client._connection.getresponse().read())["metadata"]["uid"]


def pretty_list(client: Client) -> int:
    for number in range(3_000):
        client.send("POST", MAPS, {"metadata": {"name": f"m{number}"}, "data": {"a": "x" * 3_000}})
    return client.send("GET", "/api/v1/configmaps", agent="curl/8.0")


def sparse_page(client: Client) -> int:
    return client.send("GET", "/api/v1/configmaps?limit=500&labelSelector=nobody%3Dhas")


def expression(client: Client) -> int:
    everything = [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["secrets"]}]
    spec = {"matchConstraints": {"resourceRules": everything}, "validations": [{"expression": LONG}] * 8}
    client.send("POST", f"{POLICIES}/validatingadmissionpolicies", {"metadata": {"name": "long"}, "spec": spec})
    bound = {"policyName": "long", "validationActions": ["Deny"]}
    client.send("POST", f"{POLICIES}/validatingadmissionpolicybindings", {"metadata": {"name": "long"}, "spec": bound})
    return client.send("POST", "/api/v1/namespaces/default/secrets", {"metadata": {"name": "s"}})


ROWS: dict[str, Row] = {
    "nothing": nothing, "copies": copies, "parameters": parameters, "large_yaml": large_yaml, "keys_twice": keys_twice,
    "keys_applied": keys_applied, "unknown_fields": unknown_fields, "grown": grown, "nested": nested, "circle": circle,
    "expression": expression, "pretty_list": pretty_list, "sparse_page": sparse_page,
}  # fmt: skip


def map_in_yaml(name: str, keys: int) -> bytes:
    data = "".join(f"  k{n}: v\n" for n in range(keys))
    return f"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {name}\ndata:\n{data}".encode()


def read_until(kubeconfig: dict, is_over: "multiprocessing.synchronize.Event", told: "multiprocessing.Queue") -> None:
    client, waits = Client(kubeconfig), []
    while not is_over.is_set():
        began = time.perf_counter()
        client.send("GET", "/api/v1/namespaces/default")
        waits.append((time.perf_counter() - began) * 1000)
        time.sleep(0.002)
    told.put(sorted(waits[1:]))  # the first one is a handshake


def measured(kubeconfig: dict, row: Row) -> dict:
    is_over, told = multiprocessing.Event(), multiprocessing.Queue()
    other = multiprocessing.Process(target=read_until, args=(kubeconfig, is_over, told))
    other.start()
    time.sleep(0.5)
    began = time.perf_counter()
    try:
        status: int | str = row(Client(kubeconfig))
    except (OSError, http.client.HTTPException) as error:
        status = type(error).__name__
    seconds = time.perf_counter() - began
    time.sleep(0.3)
    is_over.set()
    waits = told.get(timeout=300)
    other.join()
    return {"status": status, "seconds": seconds, "median": waits[len(waits) // 2], "slowest": waits[-1]}


def running() -> Iterator[dict]:
    folder = Path(tempfile.mkdtemp(prefix="doorman-bench-"))
    kubeconfig = folder / "kubeconfig"
    words = ["up", "--nodes", "0", "--in-memory", "--secure-port", "0", "--kubeconfig-out", str(kubeconfig)]
    server = subprocess.Popen([sys.executable, "-m", "doorman", *words], stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout is not None
        while not server.stdout.readline().startswith("ready"):
            if server.poll() is not None:
                sys.exit("the server did not start")
        yield yaml.safe_load(kubeconfig.read_text())
    finally:
        server.terminate()
        server.wait(30)
        shutil.rmtree(folder)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rows", nargs="*", metavar="ROW", help=f"of {', '.join(ROWS)}; default: all")
    wanted = parser.parse_args().rows or list(ROWS)
    if unknown := [name for name in wanted if name not in ROWS]:
        parser.error(f"no such row: {', '.join(unknown)}")
    print(f"{'row':16}{'answer':>16}{'took s':>9}{'median ms':>11}{'slowest ms':>12}")
    for kubeconfig in running():
        for name in wanted:
            found = measured(kubeconfig, ROWS[name])
            print(
                f"{name:16}{found['status']!s:>16}{found['seconds']:9.2f}{found['median']:11.1f}{found['slowest']:12.1f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
