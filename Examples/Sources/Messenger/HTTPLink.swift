import Foundation
import PushClient

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// A link through another node's relay API, so that the example reaches a server without a Waku library. That node has no other reader.
struct HTTPLink: Link {
    /// A message as the relay API writes it.
    private struct Message: Codable {
        var payload: Data
        var contentTopic: String
        var version: UInt32?
        var timestamp: Int64?
        var ephemeral: Bool?
    }

    let url: URL
    let pubsubTopic: String

    /// Makes the other node receive the shard.
    func subscribe() async throws {
        try await call("POST", "relay/v1/subscriptions", body: JSONEncoder().encode([pubsubTopic]))
    }

    func send(_ message: NodeMessage) async throws {
        let body = Message(
            payload: Data(message.payload), contentTopic: message.contentTopic, version: message.version, timestamp: message.timestamp,
            ephemeral: message.isEphemeral)
        try await call("POST", messages, body: JSONEncoder().encode(body))
    }

    func received() async throws -> [NodeMessage] {
        try JSONDecoder().decode([Message].self, from: await call("GET", messages)).map { message in
            NodeMessage(
                pubsubTopic: pubsubTopic, contentTopic: message.contentTopic, payload: [UInt8](message.payload),
                version: message.version ?? 0, timestamp: message.timestamp)
        }
    }

    private var messages: String {
        "relay/v1/messages/" + (pubsubTopic.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? "")
    }

    @discardableResult
    private func call(_ method: String, _ path: String, body: Data? = nil) async throws -> Data {
        guard let url = URL(string: url.absoluteString + "/" + path) else { throw URLError(.badURL) }
        var request = URLRequest(url: url)
        request.httpMethod = method
        request.httpBody = body
        request.setValue("application/json", forHTTPHeaderField: "Content-Type")
        let (data, response) = try await URLSession.shared.data(for: request)
        let status = (response as? HTTPURLResponse)?.statusCode ?? 0
        guard status == 200 else { throw PushClientError.nodeRejected(status: status, text: String(decoding: data, as: UTF8.self)) }
        return data
    }
}
