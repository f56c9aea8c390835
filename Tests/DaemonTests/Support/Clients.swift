import Bytes
import Envelope
import StatusCrypto
import TestSupport
import Transport
import Wire

/// The clients of a network: owners of devices, and senders. Each sender registers and then requests a push.
struct Clients: Sendable {
    let senders: [ProtocolClient]
    /// The device tokens of the owners. The message with number n is for the owner n modulo their count.
    let deviceTokens = (0..<4).map { String(repeating: "a\($0)", count: 32) }
    private let owners: [ProtocolClient]
    private let network: BusMembership
    private let mailboxes: Mailboxes

    init(of server: ServerProcess, on bus: Bus) throws {
        let key = try serverKey(of: server)
        owners = deviceTokens.map { _ in ProtocolClient(server: key, clock: .system) }
        senders = (0..<32).map { _ in ProtocolClient(server: key, clock: .system) }
        mailboxes = Mailboxes(of: owners + senders)
        network = bus.attach(listener: mailboxes)
    }

    func registerOwners() async throws {
        for (owner, deviceToken) in zip(owners, deviceTokens) {
            try await network.publish(owner.envelope(owner.registration(deviceToken: deviceToken)))
        }
        await mailboxes.wait { [owners] counts in owners.allSatisfy { counts[$0.key.publicKey] == 1 } }
    }

    func write(_ range: Range<Int>) async throws {
        for index in range {
            let (sender, owner) = (senders[index], owners[index % owners.count])
            try await network.publish(sender.envelope(sender.registration()))
            let messageID = Array("message \(index)".utf8)
            try await network.publish(sender.envelope(sender.request([sender.notification(to: owner)], messageID: messageID)))
        }
    }

    /// Waits until each of the first `count` senders has a reply to both of its messages.
    func waitForAnswers(to count: Int) async {
        await mailboxes.wait { [senders] counts in senders.prefix(count).allSatisfy { counts[$0.key.publicKey, default: 0] >= 2 } }
    }

    /// The number of replies that each sender has.
    var answerCounts: [Int] { senders.map { mailboxes.counts[$0.key.publicKey] ?? 0 } }
}

/// A counter of the replies to each client. The network may carry an envelope twice.
private final class Mailboxes: BusListener {
    private struct State {
        var known: Set<Digest32> = []
        var counts: [PublicKey: Int] = [:]
    }

    private let clients: [String: [ProtocolClient]]
    private let state = Condition(State())

    init(of clients: [ProtocolClient]) {
        self.clients = Dictionary(grouping: clients) { TopicName.partitioned($0.key.publicKey).topic.contentTopic }
    }

    var counts: [PublicKey: Int] { state.read(\.counts) }

    func receive(_ envelope: WakuEnvelope) {
        guard let client = clients[envelope.message.contentTopic]?.first(where: { $0.open(envelope) != nil }) else { return }
        let hash = envelope.hash
        state.change { if $0.known.insert(hash).inserted { $0.counts[client.key.publicKey, default: 0] += 1 } }
    }

    func wait(until isSo: @escaping @Sendable ([PublicKey: Int]) -> Bool) async { await state.wait { isSo($0.counts) } }
}
