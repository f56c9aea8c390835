import GatewayHTTP
import StatusCrypto
import Store

/// Judges entries of a request, each on its own (GATEWAY_PROTOCOLS.md §2.4).
struct Batch: Sendable {
    /// What became of an entry.
    enum Judgement: Sendable, Equatable {
        /// No notification at all, or none that this user signed.
        case malformed
        /// Its device is not registered here, or not with that token.
        ///
        /// - Parameters:
        ///   - text: the identifier as its server wrote it.
        ///   - isCertain: it was registered here, so it is no new one that its server has heard of first.
        case unknown(DeviceIdentifier, text: String, isCertain: Bool)
        case accepted(AcceptedNotification)

        var accepted: AcceptedNotification? {
            if case .accepted(let notification) = self { notification } else { nil }
        }
    }

    /// nil where an entry cannot be read.
    let entries: [BatchEntry?]

    init(_ texts: some Sequence<String>) { entries = texts.map { BatchEntry($0) } }

    var identifiers: Set<DeviceIdentifier> { Set(entries.compactMap { $0?.identifier }) }

    /// In the order of the entries.
    func judge(known: [DeviceIdentifier: ProxyDevice], removed: Set<DeviceIdentifier>) -> [Judgement] {
        entries.map { entry in
            guard let entry else { return .malformed }
            let identifier = entry.identifier
            guard let device = known[identifier] else {
                return .unknown(identifier, text: entry.identifierText, isCertain: removed.contains(identifier))
            }
            guard entry.pushTokenHash == device.pushTokenHash.description else {
                // Its server has the wrong token.
                return .unknown(identifier, text: entry.identifierText, isCertain: true)
            }
            guard entry.isSigned(by: device.userKey) else { return .malformed }
            return .accepted(
                AcceptedNotification(entry.notification(for: device), digest: entry.digest, owner: entry.identifier.digest.bytes))
        }
    }
}

/// What a server is told: it deletes what is unknown, so nothing is listed that may not be.
struct BatchResult: Sendable {
    /// As the server wrote them, each once, in the order of the entries.
    var unknown: [String] = []
    /// Entries of devices that are not here, whether or not they are listed.
    var unknownCount = 0
    var failedCount = 0

    private var listed: Set<DeviceIdentifier> = []

    /// - Parameters:
    ///   - judgements: of the next entries.
    ///   - reports: whether a device that was never seen may be called unknown.
    mutating func add(_ judgements: [Batch.Judgement], reports: (DeviceIdentifier) -> Bool) {
        for judgement in judgements {
            switch judgement {
            case .accepted: continue
            case .malformed: failedCount += 1
            case .unknown(let identifier, let text, let isCertain):
                failedCount += 1
                unknownCount += 1
                if isCertain || reports(identifier), listed.insert(identifier).inserted { unknown.append(text) }
            }
        }
    }
}
