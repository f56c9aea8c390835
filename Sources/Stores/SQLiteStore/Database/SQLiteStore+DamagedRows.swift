import GRDB
import Store

extension Database {
    func countDamagedRows() throws -> Int {
        try count(
            """
            SELECT count(*) FROM damaged_row WHERE kind = 'message' AND row IN (SELECT message FROM unfinished_message)
                OR kind = 'push' AND row IN (SELECT id FROM push WHERE finished_at IS NULL)
            """)
    }
}
