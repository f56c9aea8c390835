import PostgreSQLStore
import TestSupport
import Testing

@Suite(.safetyNet) struct PostgreSQLLocationTests {
    @Test(arguments: [
        "postgresql://push@localhost/rings", "postgres://push@[::1]:6432/rings", "postgresql://push@/rings?host=/run/postgresql",
        "postgresql:///rings", "postgresql://push@127.0.0.1/rings?sslmode=disable",
    ])
    func `a database on the same host needs no TLS`(url: String) throws {
        let sslmode = try PostgreSQLLocation(url: url).connection(password: nil, name: "test")["sslmode"]
        #expect(sslmode == nil || sslmode == "disable")
    }

    @Test(arguments: [
        "postgresql://push@db.example/rings", "postgresql://push@localhost,db.example/rings", "postgresql://push@127.evil.example/rings",
        "postgresql://push@localhost/rings?hostaddr=10.0.0.1", "postgresql://push@db.example/rings?sslmode=verify-full",
    ])
    func `a database on another host is verified`(url: String) throws {
        #expect(try PostgreSQLLocation(url: url).connection(password: nil, name: "test")["sslmode"] == "verify-full")
    }

    @Test(arguments: ["disable", "prefer", "require", "verify-ca"])
    func `a weaker check of another host is refused`(sslmode: String) {
        #expect(throws: PostgreSQLLocationError.self) { try PostgreSQLLocation(url: "postgresql://a@db.example/rings?sslmode=\(sslmode)") }
    }

    @Test(arguments: ["postgresql://push:hush@host/rings", "postgresql://push@host/rings?password=hush"])
    func `a password in a URL is refused and not shown`(url: String) {
        let error = #expect(throws: PostgreSQLLocationError.self) { try PostgreSQLLocation(url: url) }
        #expect(error?.description.contains("password") == true && error?.description.contains("hush") == false)
    }

    @Test(arguments: ["", "mysql://push@host/rings", "host=localhost dbname=rings", "postgresql://push@host", "postgresql://push@host/a?b"])
    func `a text that names no database is refused`(url: String) {
        #expect(throws: PostgreSQLLocationError.self) { try PostgreSQLLocation(url: url) }
    }

    @Test func `each connection is to the primary, has limits and a name`() throws {
        let location = try PostgreSQLLocation(url: "postgresql://push@one,two:5433/rings?target_session_attrs=any")
        let connection = location.connection(password: "hush", name: "pushserver one")
        #expect(connection["host"] == "one,two" && connection["user"] == "push" && connection["dbname"] == "rings")
        #expect(connection["password"] == "hush" && connection["application_name"] == "pushserver one")
        #expect(connection["target_session_attrs"] == "read-write")
        #expect(connection["connect_timeout"] == "5" && connection["tcp_user_timeout"] == "10000")
        #expect(connection["options"]?.contains("idle_in_transaction_session_timeout") == true)
    }
}
