import HTTPClient
import HTTPGateways
import TestSupport
import Testing

/// The addresses that untrusted clients may make the server connect to, and the address to which limits apply.
@Suite(.safetyNet)
struct AddressTests {
    @Test(arguments: [
        "1.1.1.1", "172.15.0.1", "172.32.0.1", "100.63.0.1", "100.128.0.1", "223.255.255.255", "2606:4700::1", "2002:0101:0101::1",
        "64:ff9b::101:101", "[1.1.1.1]", "::ffff:1.1.1.1",
        // The neighbours of the others.
        "1.0.0.1", "9.255.255.255", "11.0.0.1", "126.255.255.255", "128.0.0.1", "169.253.255.255", "169.255.0.1", "192.0.1.1", "192.0.3.1",
        "192.88.98.1", "192.88.100.1", "192.167.255.255", "192.169.0.1", "198.17.255.255", "198.20.0.1", "198.51.99.1", "198.51.101.1",
        "203.0.112.1", "203.0.114.1", "2000::1", "2001:200::1", "2001:db7::1", "2001:db9::1", "3ffe::1",
    ])
    func `these are public`(text: String) throws {
        #expect(try #require(IPAddress(text)).isPublic)
    }

    @Test(arguments: [
        "0.0.0.0", "0.1.2.3", "10.0.0.1", "100.64.0.1", "100.127.255.255", "127.0.0.1", "127.255.0.1", "169.254.169.254", "172.16.0.1",
        "172.31.255.255", "192.0.0.1", "192.0.2.1", "192.88.99.1", "192.168.0.1", "198.18.0.1", "198.19.0.1", "198.51.100.1", "203.0.113.1",
        "224.0.0.1", "240.0.0.1", "255.255.255.255", "::", "::1", "fe80::1", "fec0::1", "fc00::1", "fdff::1", "ff02::1", "2001::1",
        "2001:db8::1",
        "3fff::1", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "::127.0.0.1", "64:ff9b::7f00:1", "64:ff9b:1::1", "2002:7f00:1::1", "[::1]",
    ])
    func `these are not`(text: String) throws {
        #expect(try !#require(IPAddress(text)).isPublic)
    }

    @Test(arguments: [
        "", "1.2.3", "1.2.3.4.5", "127.1", "0x7f.0.0.1", "1.2.3.4:5", "localhost", "[1.2.3.4", ":::", "fe80::1%lo", "1.1.1.1\0",
        "[::\0::1]",
    ])
    func `other texts are no address`(text: String) {
        #expect(IPAddress(text) == nil)
    }

    @Test func `the client is the last that a trusted proxy names`() throws {
        let (proxy, client) = (try #require(IPAddress("10.0.0.1")), try #require(IPAddress("1.1.1.1")))
        let address = ClientAddress(trustedProxies: [proxy])
        for forwarded in [["1.1.1.1"], ["2.2.2.2, 1.1.1.1"], ["2.2.2.2", "3.3.3.3,1.1.1.1 "]] {
            #expect(address.resolve(peer: proxy, forwarded: forwarded) == (client, nil))
            #expect(address.resolve(peer: client, forwarded: forwarded) == (client, .untrustedProxy))
        }
        #expect(address.resolve(peer: proxy, forwarded: []) == (proxy, nil))
    }

    @Test(arguments: [
        ("1.1.1.1:80", "1.1.1.1"), ("\"1.1.1.1\"", "1.1.1.1"), ("[2606:4700::1]", "2606:4700::1"), ("[2606:4700::1]:65535", "2606:4700::1"),
        ("\"[2606:4700::1]:80\"", "2606:4700::1"), ("fe80::1%eth0", "fe80::1"), ("[fe80::1%eth0]:80", "fe80::1"),
        ("2606:4700::1", "2606:4700::1"),
        ("::ffff:1.1.1.1", "1.1.1.1"),
    ])
    func `a proxy may add a port, brackets, a zone or quotes to the client`(entry: String, client: String) throws {
        let proxy = try #require(IPAddress("10.0.0.1"))
        let address = ClientAddress(trustedProxies: [proxy])
        #expect(address.resolve(peer: proxy, forwarded: ["2.2.2.2, \(entry)"]) == (try #require(IPAddress(client)), nil))
    }

    @Test(arguments: ["unknown", "_hidden", "1.1.1.1:", "1.1.1.1:80:80", "1.1.1.1:65536", "[1.1.1.1", "[::1]x", "\"", "[]", "example.org"])
    func `a client that cannot be read is told, and counts as its proxy`(entry: String) throws {
        let proxy = try #require(IPAddress("10.0.0.1"))
        #expect(ClientAddress(trustedProxies: [proxy]).resolve(peer: proxy, forwarded: ["1.1.1.1, \(entry)"]) == (proxy, .unreadable))
    }

    @Test func `IPv4 within IPv6 is IPv4`() {
        #expect(IPAddress("::ffff:1.2.3.4") == IPAddress("1.2.3.4"))
    }
}
