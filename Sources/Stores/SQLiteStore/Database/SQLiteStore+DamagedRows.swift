import GRDB
import Store

extension Database {
    func damagedRows() throws -> [String] {
        try all(
            """
            SELECT kind, row FROM damaged_row WHERE kind = 'message' AND row IN (SELECT message FROM unfinished_message)
                OR kind = 'push' AND row IN (SELECT id FROM push WHERE finished_at IS NULL)
                OR kind = 'registration' AND row IN (SELECT id FROM registration WHERE is_live = 1)
            ORDER BY kind, row
            """
        ) { "\(try $0.next(String.self)) \(try $0.next(Int64.self))" }
    }
}
