import Bytes
package import Envelope
import PushProtocol
import StatusCrypto
import Store
import Wire

extension PostgreSQLStore {
    package func withdraw(_ pushes: [Int64], at now: Timestamp) async throws {
        try await write { transaction in
            _ = try transaction.finish(pushes, as: .withdrawn, reason: .withdrawn, at: now)
        }
    }
}
