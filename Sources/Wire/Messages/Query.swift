package struct PushNotificationQuery: WireMessage {
    /// Hashes of public keys, 64 bytes each.
    package var publicKeys: [[UInt8]] = []

    package init() {}
}

package struct PushNotificationQueryInfo: WireMessage {
    package var accessToken = ""
    package var installationID = ""
    /// Hash of the owner's public key, 64 bytes.
    package var publicKey: [UInt8] = []
    package var allowedKeyList: [[UInt8]] = []
    package var grant: [UInt8] = []
    package var version: UInt64 = 0
    /// Compressed, 33 bytes.
    package var serverPublicKey: [UInt8] = []

    package init() {}
}

package struct PushNotificationQueryResponse: WireMessage {
    package var info: [PushNotificationQueryInfo] = []
    /// Status message id of the query, 32 bytes.
    package var messageID: [UInt8] = []
    package var success = false

    package init() {}
}

package struct ContactCodeAdvertisement: WireMessage {
    package var pushNotificationInfo: [PushNotificationQueryInfo] = []
    /// Opaque to us (`ChatIdentity`); kept as received.
    package var chatIdentity: [UInt8] = []

    package init() {}
}
