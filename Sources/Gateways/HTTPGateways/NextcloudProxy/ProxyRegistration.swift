import Bytes
import Envelope
import HTTPClient
import ServerCrypto
import StatusCrypto
import Store

/// A valid `POST /devices` (GATEWAY_PROTOCOLS.md §2.2).
struct ProxyRegistration: Sendable {
    /// The device to store.
    var device: ProxyDevice
    /// The account, which can prove the key if the device is known under another key.
    var cloudID: String?

    private static let names = DeviceRequest.names.union(["pushToken", "cloudId"])

    /// Checks a request in the order of GATEWAY_PROTOCOLS.md §2.2, 3 to 7.
    init(_ request: GatewayRequest, body: [UInt8], apps: [AppRule], at now: Timestamp) throws(DeviceRequest.Fault) {
        let fields = try DeviceRequest.read(request, body: body, names: Self.names)
        let pushToken = try DeviceRequest.values(fields, DeviceRequest.names.union(["pushToken"]))["pushToken"] ?? ""
        let device = try DeviceRequest(fields)
        guard let token = PushToken(pushToken) else { throw .pushToken }
        guard device.isSigned else { throw .signature }
        let userAgent = request.headers["User-Agent"] ?? ""
        guard let app = apps.first(where: { $0.fits(token, userAgent: userAgent) }) else { throw .app }
        self.device = ProxyDevice(
            identifier: device.identifier, userKey: device.userKey, pushTokenHash: SHA512.hash(Array(pushToken.utf8)),
            platform: app.platform, token: "", topic: app.topic, createdAt: now, updatedAt: now)
        switch token {
        case .apns(let normal, let voip):
            self.device.token = normal
            self.device.voipToken = voip
            self.device.voipTopic = voip == nil ? nil : app.voipTopic
        case .fcm(let token):
            self.device.token = token
        }
        cloudID = fields["cloudId"].flatMap { $0.isEmpty ? nil : $0 }
    }

    /// What a registration does (GATEWAY_PROTOCOLS.md §2.2, 8).
    enum Decision: Sendable, Equatable {
        case store(ProxyDevice)
        /// The device is known under another key, or under one that cannot be read.
        case conflict
    }

    /// - Parameters:
    ///   - known: The registered device with this identifier.
    ///   - isProven: Whether key and identifier are proven to be the account's.
    func decide(known: StoredDevice?, isProven: Bool) -> Decision {
        switch known {
        case nil: return .store(device)
        case .damaged: return isProven ? .store(device) : .conflict
        case .readable(let known):
            guard isProven || known.userKey == device.userKey else { return .conflict }
            var device = device
            device.createdAt = known.createdAt
            return .store(device)
        }
    }
}
