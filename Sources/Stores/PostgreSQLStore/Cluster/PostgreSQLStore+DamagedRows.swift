extension Query<Int> {
    static var countDamagedRows: Query {
        .count(
            """
            SELECT count(*) FROM damaged_row
            WHERE kind = 'message' AND EXISTS (SELECT FROM message WHERE id = row AND is_unfinished)
                OR kind = 'push' AND EXISTS (SELECT FROM push WHERE id = row AND \(OpenPushes.byRow))
            """)
    }
}
