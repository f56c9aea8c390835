package import Envelope

/// A node that carries messages, to be shared by all clients of a program: a relay cache has one reader.
///
///     let node = Node(NodeAccess(url: "http://127.0.0.1:8645"))
public struct Node: Sendable {
    package let exchange: Exchange
    package let segmenter: Segmenter
    /// A generator for each operation.
    let makeRandom: @Sendable () -> Randomness

    /// Describes the connection. Nothing is sent before the first call of a client.
    ///
    /// - Parameters:
    ///   - access: where the node is, and how to get at what it has.
    ///   - clock: measures all waiting.
    public init(_ access: NodeAccess, clock: any Clock<Duration> = ContinuousClock()) {
        self.init(
            RESTNode(access), pubsubTopic: access.pubsubTopic,
            segmenter: Segmenter(maximumMessageByteCount: access.maximumMessageByteCount), clock: clock, wallClock: .system)
    }

    package init(
        _ node: any MessageNode, pubsubTopic: String, segmenter: Segmenter = Segmenter(), clock: any Clock<Duration>,
        wallClock: WallClock, makeRandom: @escaping @Sendable () -> Randomness = { Randomness() }
    ) {
        exchange = Exchange(node: node, pubsubTopic: pubsubTopic, clock: clock, wallClock: wallClock)
        self.segmenter = segmenter
        self.makeRandom = makeRandom
    }

    package var now: Timestamp { exchange.wallClock.now() }

    /// Makes what is to be sent.
    func sealing<Sealed>(
        _ seal: (inout Randomness) throws(RFC26.DataTooLong) -> Sealed
    ) throws(PushClientError) -> Sealed {
        var random = makeRandom()
        do {
            return try seal(&random)
        } catch {
            throw .requestTooLong
        }
    }
}
