import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect } from 'chai'
import { request } from 'undici'
import { sendBody } from '../../../server/http/send-body.ts'

const LENGTHS = [0, 1, 256, 4_095, 4_096, 4_097, 65_536, 65_537]

describe('a complete body', () => {
  const server = createServer((req, res) => {
    const length = Number(req.url!.slice(1))
    const bytes = Buffer.from(Uint8Array.from({ length }, (_, at) => at % 256))
    res.writeHead(200, ['Content-Length', String(length), 'X-Text', 'é'])
    sendBody(res, bytes, { admit: () => undefined })
  })

  before(() => once(server.listen(0, '127.0.0.1'), 'listening'))
  after(() => server.close())

  for (const length of LENGTHS) {
    it(`of ${length} bytes of all values arrives unchanged, after its headers`, async () => {
      const { port } = server.address() as AddressInfo
      const response = await request(`http://127.0.0.1:${port}/${length}`)
      expect(response.headers['x-text']).to.equal('é')
      const bytes = Buffer.from(await response.body.arrayBuffer())
      expect(bytes).to.have.length(length)
      expect(bytes.every((byte, at) => byte === at % 256)).to.equal(true)
    })
  }
})
