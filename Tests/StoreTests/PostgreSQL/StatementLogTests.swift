import Bytes
import Logging
import Store
import TestSupport
import Testing

@testable import PostgreSQLStore

/// A PostgreSQL that logs each statement with its values.
@Suite(.fewAtATime) struct StatementLogTests {
    @Test func `PostgreSQL's log contains no secret, because values are sealed before they are sent`() async throws {
        let postgres = try await PostgreSQLProcess.start(["log_statement=all", "log_parameter_max_length=-1", "log_line_prefix="])
        let location = try PostgreSQLLocation(url: postgres.serverSettings["storage.url"] ?? "")
        let store = try PostgreSQLStore(
            location.connection(password: nil, name: "test"), identity: identity, sealingKeys: sealingKeys(1), serverName: "one",
            logger: Logger(label: "test"))
        let secrets = PlantedSecrets()
        try await secrets.plant(in: store)
        try await secrets.expectComplete(in: store)
        #expect(try await store.logsValues())
        await store.close()
        let log = try await postgres.completeLog()
        func hasValue(_ text: String) -> Bool {
            let digits = Hex.encode(Array(text.utf8))
            return log.contains { $0.contains(text) || $0.contains(digits) }
        }
        // Bundle ids are not sealed, so the log has values.
        #expect(hasValue("im.status.ethereum"))
        for trace in PlantedSecrets.traces { #expect(!hasValue(trace)) }
        await postgres.stop()
    }

    @Test func `a server whose statements are not logged has nothing to warn of`() async throws {
        let folder = try TemporaryFolder()
        let store = try folder.openPostgreSQL()
        #expect(try await !store.logsValues())
        await store.close()
    }
}
