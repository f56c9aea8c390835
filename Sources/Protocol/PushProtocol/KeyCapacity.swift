package import Envelope
package import Wire

/// A live installation of a key, as far as it counts for the key's limits.
package struct LiveInstallation: Sendable, Equatable {
    package var version: StoredVersion
    /// When its registration was stored.
    package var registeredAt: Timestamp
    /// The bytes that its lists take.
    package var listByteCount: Int
    /// The bytes that its list of contacts takes, which a response to a query contains.
    package var contactByteCount: Int
    /// Whether Apple or Google has accepted a push for its device token and bundle id.
    package var isProven: Bool

    package init(
        version: StoredVersion, registeredAt: Timestamp, listByteCount: Int = 0, contactByteCount: Int = 0, isProven: Bool = false
    ) {
        self.version = version
        self.registeredAt = registeredAt
        self.listByteCount = listByteCount
        self.contactByteCount = contactByteCount
        self.isProven = isProven
    }
}

/// The capacity of a key: so many live installations, with infos that fit into the two responses of a query. The newest registration is
/// always taken, and others of the key make room for it.
package enum KeyCapacity {
    /// The most that an info takes beside its list of contacts: the access token, both keys, the grant, the installation id and the
    /// version.
    static let infoByteCount = 384

    /// Chooses the installations that make room for a registration: those that no push was ever delivered to before others, and the oldest
    /// registrations first.
    ///
    /// - Parameter others: The live installations of the key but that of the registration.
    package static func evicted(
        from others: [Installation: LiveInstallation], by registration: PushNotificationRegistration
    ) -> [Installation] {
        // As for the answer to a query: the newest have the first place.
        var kept = others.sorted { one, other in
            if one.value.registeredAt != other.value.registeredAt { return one.value.registeredAt > other.value.registeredAt }
            return one.key.installationID.utf8.lexicographicallyPrecedes(other.key.installationID.utf8)
        }
        func isFull() -> Bool {
            var space = ResponseSpace()
            let sizes = [info(registration.contactByteCount)] + kept.map { info($0.value.contactByteCount) }
            return sizes.count > ProtocolLimits.maximumInstallationsPerKey || !sizes.allSatisfy { space.take($0) }
        }
        var evicted: [Installation] = []
        while isFull() {
            // The last one is the oldest.
            guard let index = kept.lastIndex(where: { !$0.value.isProven }) ?? kept.indices.last else { break }
            evicted.append(kept.remove(at: index).key)
        }
        return evicted
    }

    /// Stored lengths are bounded by the response, so that no number of a row overflows the sum.
    private static func info(_ contactByteCount: Int) -> Int {
        infoByteCount + min(max(0, contactByteCount), ProtocolLimits.maximumAnswerByteCount)
    }
}

extension PushNotificationRegistration {
    /// The bytes that the list of contacts takes as it is stored and sent.
    package var contactByteCount: Int {
        var list = PushNotificationRegistration()
        list.allowedKeyList = allowedKeyList
        return list.encodedByteCount
    }
}
