import Foundation
import HTTPClient
import TestSupport
import Testing

/// Tasks that prefer the thread of the transfers.
@Suite(.safetyNet) struct TaskExecutorTests {
    private func onTransferThread() -> Bool { currentThreadName() == "HTTPClient" }

    @Test func `Tasks that prefer a client run on its thread, also after each answer, and keep nobody from theirs`() async throws {
        let server = try RawServer { connection in
            while let request = connection.readRequest() { connection.respond(body: request.components(separatedBy: " ")[1]) }
        }
        let client = HTTPClient()
        try await withThrowingTaskGroup { group in
            for task in 0..<20 {
                group.addTask(executorPreference: client) {
                    for number in 0..<20 {
                        #expect(onTransferThread())
                        let response = try await client.send(.to(server.url + "/\(task)/\(number)", .post))
                        #expect(response.text == "/\(task)/\(number)")
                    }
                    #expect(onTransferThread())
                }
            }
            try await group.waitForAll()
        }
        #expect(!onTransferThread())
    }

    @Test func `Tasks that prefer a client go on elsewhere when it has ended`() async throws {
        let seen = Recorder<String>()
        let server = try RawServer { connection in
            if let request = connection.readRequest() { seen.append(request) }
            connection.waitForEnd()
        }
        let client = HTTPClient()
        async let pending = withTaskExecutorPreference(client) { (await failure(client, .to(server.url, .post)), onTransferThread()) }
        await seen.wait(for: 1)
        client.shutdown()
        #expect(await pending == (HTTPError(.cancelled, requestMayHaveArrived: true), false))
        let later = await withTaskExecutorPreference(client) { (await failure(client, .to(server.url)), onTransferThread()) }
        #expect(later == (HTTPError(.cancelled, requestMayHaveArrived: false), false))
    }

    @Test func `A task that holds the last of a client may end on its thread`() async {
        let ended = Recorder<Bool>()
        await { () async in
            let client = HTTPClient()
            Task(executorPreference: client) { ended.append(onTransferThread()) }
        }()
        #expect(await ended.wait(for: 1) == [true])
    }
}
