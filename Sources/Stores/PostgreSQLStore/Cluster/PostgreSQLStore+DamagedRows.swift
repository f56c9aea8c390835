extension Query<[String]> {
    static var damagedRows: Query {
        .all(
            """
            SELECT kind, row FROM damaged_row
            WHERE kind = 'message' AND EXISTS (SELECT FROM message WHERE id = row AND is_unfinished)
                OR kind = 'push' AND EXISTS (SELECT FROM push WHERE id = row AND \(OpenPushes.byRow))
                OR kind = 'registration' AND EXISTS (SELECT FROM registration WHERE id = row AND is_live)
            ORDER BY kind, row
            """
        ) { "\(try $0.next(String.self)) \(try $0.next(Int64.self))" }
    }
}
