import ArgumentParser
import Operator
import PushClient

struct Advertise: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Publish the servers that notify a key's devices, for its contacts.",
        discussion: """
            Queries all servers for the devices of the key, and advertises the result on its contact-code topic. Clients that know the key \
            can read the advertisement instead of querying servers. Nodes delete it after some days, so an app repeats it.
            """)

    @OptionGroup var node: NodeOptions
    @OptionGroup var key: KeyOptions
    @OptionGroup var output: OutputOptions

    func run() async throws {
        let identity = try key.identity()
        let devices = try await node.withNode(silence: "") { node throws in
            let devices = try await SendingClient(node: node, state: MemoryState()).query(identity.publicKey)
            if !devices.isEmpty { try await node.advertise(devices, as: identity) }
            return devices
        }
        guard !devices.isEmpty else {
            throw Failure.failed(
                "No server replied that it knows this key. Register first. If you did, check that the server listens on this shard.",
                .unknownOwner)
        }
        try output.print(devices.map(AdvertisedOutput.init)) {
            ["advertised"]
                + devices.map { device in
                    "  \(device.installationID)  at \(device.server.hex)\(device.accessToken == nil ? "  for contacts only" : "")"
                }
        }
    }
}

private struct AdvertisedOutput: Encodable {
    let installationID: String
    let server: String
    let accessToken: String?
    /// Digits, because most readers of JSON lose precision above 2^53.
    let version: String

    init(_ device: DeviceInfo) {
        installationID = device.installationID
        server = device.server.hex
        accessToken = device.accessToken
        version = "\(device.version)"
    }
}
