import Bytes
import StatusCrypto
import Store

/// Judges a request's entries, each independently (GATEWAY_PROTOCOLS.md §2.4).
struct Batch: Sendable {
    /// The verdict on an entry.
    enum EntryResult: Sendable, Equatable {
        /// The entry is no notification, its user has not signed it, or the row of its device is damaged. The server keeps the device.
        case failed
        /// The device is not registered, or not with that token.
        ///
        /// - Parameters:
        ///   - text: The identifier as the server wrote it.
        ///   - isCertain: Whether the device was removed, so it is not a new device whose registration is yet to arrive.
        case unknown(UnknownDeviceGrace.UnknownDevice, text: String, isCertain: Bool)
        case accepted(AcceptedNotification)

        var accepted: AcceptedNotification? {
            if case .accepted(let notification) = self { notification } else { nil }
        }
    }

    /// The entries, with nil for those that cannot be read.
    let entries: [BatchEntry?]

    init(_ texts: some Sequence<String>) { entries = texts.map { BatchEntry($0) } }

    var identifiers: Set<DeviceIdentifier> { Set(entries.compactMap { $0?.identifier }) }

    /// Judges the entries in their order.
    func judge(known: [DeviceIdentifier: StoredDevice], removed: Set<DeviceIdentifier>) -> [EntryResult] {
        entries.map { entry in
            guard let entry else { return .failed }
            let identifier = entry.identifier
            // Only an unknown device costs the hash.
            var miss: UnknownDeviceGrace.UnknownDevice { .init(identifier, tokenHash: entry.pushTokenHash) }
            guard let stored = known[identifier] else {
                return .unknown(miss, text: entry.identifierText, isCertain: removed.contains(identifier))
            }
            guard case .readable(let device) = stored else { return .failed }
            guard entry.pushTokenHash == device.pushTokenHash.description else {
                // The grace for unregistered devices applies. Otherwise the response would immediately reveal that this device is
                // registered.
                return .unknown(miss, text: entry.identifierText, isCertain: false)
            }
            guard let digest = entry.digest(signedBy: device.userKey) else { return .failed }
            return .accepted(
                AcceptedNotification(entry.notification(for: device), digest: digest, owner: entry.identifier.digest.bytes))
        }
    }
}

/// The response to a batch. A server deletes the devices that are listed as unknown.
struct BatchResult: Sendable {
    /// The unknown identifiers as the server wrote them, each once, ordered like the entries.
    var unknown: [String] = []
    /// The number of entries of unregistered devices, listed or not.
    var unknownCount = 0
    var failedCount = 0

    private var listed: Set<DeviceIdentifier> = []

    /// - Parameters:
    ///   - judgements: The verdicts on the next entries.
    ///   - reports: Returns whether a device that was never seen is listed as unknown.
    mutating func add(_ judgements: [Batch.EntryResult], reports: (UnknownDeviceGrace.UnknownDevice) -> Bool) {
        for judgement in judgements {
            switch judgement {
            case .accepted: continue
            case .failed: failedCount += 1
            case .unknown(let miss, let text, let isCertain):
                failedCount += 1
                unknownCount += 1
                if isCertain || reports(miss), listed.insert(miss.identifier).inserted { unknown.append(text) }
            }
        }
    }
}
