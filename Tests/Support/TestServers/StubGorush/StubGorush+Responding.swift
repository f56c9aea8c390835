import Foundation
import HTTPTypes
import Hummingbird
import NIOCore
import ServiceLifecycle
import Synchronization
import TestSupport

/// A request and its connection, for the misbehaviour that needs it.
struct StubGorushContext: RequestContext {
    var coreContext: CoreRequestContextStorage
    let channel: any Channel

    init(source: ApplicationRequestContextSource) {
        coreContext = CoreRequestContextStorage(source: source)
        channel = source.channel
    }
}

extension StubGorush {
    /// The limit of a body's length. The tests' batches are far smaller.
    private static let maximumBodyByteCount = 32 << 20

    func respond(to request: Request, channel: any Channel) async throws -> Response {
        if request.uri.path != "/api/push", let outage = state.withLock({ $0.outage }), outage.hidesConfiguration {
            return try await respond(.empty, but: outage.misbehaviour, channel: channel)
        }
        if configuration.isBehindProxy, request.uri.path != "/api/push" { return response(.notFound) }
        return switch (request.method, request.uri.path) {
        case (.post, "/api/push"): try await push(request, channel: channel)
        case (.post, "/api/push/"): response(.withoutTrailingSlash)
        case (.get, "/healthz"), (.head, "/healthz"): response(.empty)
        case (.get, "/api/config"): response(.configuration(configuration))
        case (.get, "/version"): response(.versionInformation)
        case (.get, "/"): response(.welcome)
        default: response(.notFound)
        }
    }

    private func push(_ request: Request, channel: any Channel) async throws -> Response {
        let body = String(buffer: try await request.body.collect(upTo: Self.maximumBodyByteCount))
        let arrivedAt = Date.now
        posts.append(Post(headers: request.headers.map { ($0.name.rawName, $0.value) }, body: body))
        await takeWorker()
        defer { busyWorkerCount.change { $0 -= 1 } }
        if let outage = outage(of: body) { return try await respond(.empty, but: outage, channel: channel) }
        let scripted = state.withLock { $0.script.isEmpty ? nil : $0.script.removeFirst() }
        if let scripted, !scripted.takesBatch { return try await respond(.empty, but: scripted.misbehaviour, channel: channel) }
        let answer = take(body, arrivedAt: arrivedAt, over: number(of: channel))
        if configuration.delay > .zero { try await Task.sleep(for: configuration.delay) }
        guard let scripted else { return response(answer) }
        return try await respond(answer, but: scripted.misbehaviour, channel: channel)
    }

    /// Waits for a free worker. gorush needs one for each notification; a request holds one here, because what waits for each other is then
    /// the same.
    private func takeWorker() async {
        let count = configuration.workerCount
        while !Task.isCancelled {
            await busyWorkerCount.wait { $0 < count }
            let isTaken = busyWorkerCount.change { busy in
                guard busy < count else { return false }
                busy += 1
                return true
            }
            if isTaken { return }
        }
        busyWorkerCount.change { $0 += 1 }
    }

    private struct Batch: Decodable {
        let notifications: [StubNotification?]
    }

    private func outage(of body: String) -> Misbehaviour? {
        guard let outage = state.withLock({ $0.outage }) else { return nil }
        let batch = try? JSONDecoder().decode(Batch.self, from: Data(body.utf8)).notifications
        let isMeant = batch?.contains { $0.map(outage.concerns) ?? false } ?? true
        return isMeant ? outage.misbehaviour : nil
    }

    private func number(of connection: any Channel) -> Int {
        let identifier = ObjectIdentifier(connection)
        return state.withLock { state in
            if let number = state.connections[identifier] { return number }
            // A later connection may have the same identifier.
            connection.closeFuture.whenComplete { _ in self.state.withLock { $0.connections[identifier] = nil } }
            defer { state.connectionCount += 1 }
            state.connections[identifier] = state.connectionCount
            return state.connectionCount
        }
    }

    private func take(_ body: String, arrivedAt: Date, over connection: Int) -> StubGorushResponse {
        let (configuration, failures, poison) = state.withLock { ($0.configuration, $0.failures, $0.poison) }
        let connectionFailure = state.withLock { $0.connectionFailure }?(connection)
        guard let batch = try? JSONDecoder().decode(Batch.self, from: Data(body.utf8)).notifications,
            poison.isDisjoint(with: batch.compactMap(\.self).flatMap(\.tokens))
        else {
            return .refused("Missing notifications field.")
        }
        guard !batch.isEmpty else { return .refused("Notifications field is empty.") }
        guard batch.count <= configuration.maximumNotificationCount else {
            return .refused("Number of notifications(\(batch.count)) over limit(\(configuration.maximumNotificationCount))")
        }
        var taken = batch.compactMap(\.self).filter { configuration.enabledPlatforms.contains($0.platform) }
        for index in taken.indices { taken[index].arrivedAt = arrivedAt }
        notifications.append(contentsOf: taken)
        let logs = taken.flatMap { notification in
            notification.tokens.compactMap { token -> String? in
                let topic = notification.topic
                let targets = [Target(token: token, topic: topic), Target(token: token), Target(token: nil, topic: topic)]
                return (targets.lazy.compactMap { failures[$0] }.first ?? connectionFailure).map {
                    StubGorushResponse.failure(notification, token: token, error: $0, hidesTokens: configuration.hidesTokens)
                }
            }
        }
        return .accepted(count: taken.reduce(0) { $0 + $1.count }, logs: configuration.isSync ? logs : [])
    }

    private func respond(_ answer: StubGorushResponse, but misbehaviour: Misbehaviour, channel: any Channel) async throws -> Response {
        switch misbehaviour {
        case .answer(let status, let headers, let body):
            return response(StubGorushResponse(status: status, contentType: nil, headers: headers, body: body))
        case .hang:
            try await cancelWhenGracefulShutdown { try await Task.sleep(for: .seconds(86_400)) }
            return response(answer)
        case .delay(let mayAnswer):
            _ = await cancelWhenGracefulShutdown { await mayAnswer.wait { $0 } }
            return response(answer)
        case .reset:
            try await (channel as? any SocketOptionProvider)?.setSoLinger(linger(l_onoff: 1, l_linger: 0)).get()
            try await channel.close()
            return response(answer)
        case .breakOff:
            return response(answer) { writer in
                try await writer.write(ByteBuffer(string: String(answer.body.prefix(answer.body.count / 2))))
                try await channel.close()
            }
        case .drip(let interval):
            return response(answer) { writer in
                for byte in answer.body.utf8 {
                    try await Task.sleep(for: interval)
                    try await writer.write(ByteBuffer(bytes: CollectionOfOne(byte)))
                }
                try await writer.finish(nil)
            }
        }
    }

    /// Returns a response.
    ///
    /// - Parameter write: The function that writes the body. nil writes it at once.
    private func response(
        _ answer: StubGorushResponse, write: (@Sendable (inout any ResponseBodyWriter) async throws -> Void)? = nil
    ) -> Response {
        var headers = HTTPFields()
        if let type = answer.contentType { headers[.contentType] = type }
        for (name, value) in answer.headers {
            if let name = HTTPField.Name(name) { headers[name] = value }
        }
        if answer.status != 404, let name = HTTPField.Name("X-Gorush-Version") { headers[name] = StubGorushResponse.version }
        let body = write.map { write in ResponseBody(contentLength: answer.body.utf8.count) { writer in try await write(&writer) } }
        return Response(
            status: .init(code: answer.status), headers: headers, body: body ?? ResponseBody(byteBuffer: ByteBuffer(string: answer.body)))
    }
}

extension StubGorush.Outage {
    fileprivate func concerns(_ notification: StubNotification) -> Bool {
        platforms.contains(notification.platform) && (tokens.map { !$0.isDisjoint(with: notification.tokens) } ?? true)
    }
}
