"""elastic-transport 9.4.2, unmended: a request that chooses a node fails while another one marks a node as dead."""

from elastic_transport import NodeConfig, NodePool, RoundRobinSelector, Urllib3HttpNode

from kcache import testing as kt


def a_node_is_found_while_another_dies():
    nodes = [NodeConfig("http", host, 80) for host in "abc"]
    pool = NodePool(nodes, Urllib3HttpNode, node_selector_class=RoundRobinSelector, randomize_nodes=False)
    failed = pool.get()
    kt.run(pool.get, lambda: pool.mark_dead(failed))
