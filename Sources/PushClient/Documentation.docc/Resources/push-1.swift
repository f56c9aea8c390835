import PushClient

let node = Node(NodeAccess(url: "http://127.0.0.1:8645"))
let server = try PublicKey(hex: "0x04…")
let alice = Identity.generate()
