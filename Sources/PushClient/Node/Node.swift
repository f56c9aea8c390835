package import Envelope

/// A node that carries messages. All clients of a program share one: a relay cache has one reader.
///
///     let node = Node(NodeAccess(url: "http://127.0.0.1:8645"))
public struct Node: Sendable {
    package let exchange: Exchange
    package let segmenter: Segmenter
    /// Returns a random number generator for each operation.
    let makeRandom: @Sendable () -> Randomness

    /// Creates the connection. The first call of a client sends the first request.
    ///
    /// - Parameters:
    ///   - access: The node, and how to receive from it.
    ///   - clock: The clock that measures all waiting.
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

    /// Returns the value that `seal` creates with fresh randomness.
    func sealing<Sealed>(
        _ seal: (inout Randomness) throws(RFC26.DataTooLong) -> Sealed
    ) throws -> Sealed {
        var random = makeRandom()
        do {
            return try seal(&random)
        } catch {
            throw PushClientError.requestTooLong
        }
    }
}
