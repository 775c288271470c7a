import { connect } from 'node:net'
import { expect } from 'chai'
import { Client } from 'undici'
import type { HttpResponse } from '../../server/http/http-response.ts'
import { eventually } from '../support/eventually.ts'
import { bareApp } from './bare-app.ts'

describe('the application, as it sends and is left', () => {
  const app = bareApp()
  const { ask } = app

  describe('aborts a response that cannot be written, and logs why', () => {
    const charged = { 'X-Charged-Microdollars': '100' }
    const unwritable: Readonly<Record<string, HttpResponse>> = {
      'a header': { status: 200, headers: { ...charged, 'X-Odd': 'a\r\nb' }, body: {} },
      'a body': { status: 200, headers: charged, body: { amount: 1n } },
    }
    for (const [name, reply] of Object.entries(unwritable)) {
      it(`${name}: never says that a charged call was free`, async () => {
        app.call = async () => reply
        const answer = await ask({ path: '/proxy/echo/a' }).catch((error: unknown) => error)
        expect(answer).to.be.instanceOf(Error)
        expect(app.logged.join('')).to.include('unexpected error of the server')
      })
    }
  })

  for (const path of ['/proxy/echo/say', '/v1/things']) {
    it(`is not alarmed by a caller who leaves within the body: ${path}`, async () => {
      const socket = connect(app.port(), '127.0.0.1')
      const length = 'Content-Type: application/json\r\nContent-Length: 1000'
      socket.write(`POST ${path} HTTP/1.1\r\nHost: x\r\n${length}\r\n\r\n{"words":`)
      await eventually(() => (app.latest?.listenerCount('data') ?? 0) > 0) // its body is being read
      socket.destroy()
      await eventually(() => app.logged.join('').includes('"status":499'))
      expect(app.logged.join('')).not.to.include('"level":50')
      expect(app.requests).to.deep.equal([])
    })
  }

  describe('sends a download as it comes', () => {
    const begin = async () => {
      const client = new Client(`http://127.0.0.1:${app.port()}`)
      const { statusCode, body } = await client.request({ path: '/v1/download', method: 'GET' })
      return { statusCode, body, close: () => client.destroy() }
    }

    it('its head before its first piece, and its trailers after the last one', async () => {
      const { statusCode, body, close } = await begin()
      expect(statusCode).to.equal(200)
      app.flow.write('all')
      app.flow.trailers = { 'X-Sum': '3' }
      app.flow.finish(null)
      expect(await body.text()).to.equal('all')
      await close()
    })

    it('one that fails aborts the response, and is logged', async () => {
      const { body, close } = await begin()
      app.flow.write('half')
      app.flow.finish(new Error('the database went away'))
      expect(await body.text().catch((error: unknown) => error)).to.be.instanceOf(Error)
      expect(app.logged.join('')).to.include('the database went away')
      await close()
    })

    it('one whose caller disconnects is released, and not logged', async () => {
      const { body, close } = await begin()
      body.on('error', () => undefined).destroy()
      await eventually(() => app.flow.destroyed)
      expect(app.logged.join('')).not.to.include('"level":50')
      await close()
    })
  })
})
