import { IncomingMessage, ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import { expect } from 'chai'
import Koa from 'koa'
import { finalizeResponse, markPublic } from '../../../server/http/finalize-response.ts'

describe('what is alike for everybody', () => {
  for (const coding of ['identity', 'gzip']) {
    it(`is in memory once, however many have not read it yet: ${coding}`, async () => {
      const answer = async (): Promise<unknown> => {
        const request = new IncomingMessage(new Socket())
        request.headers['accept-encoding'] = coding
        const ctx = new Koa().createContext(request, new ServerResponse(request))
        markPublic(ctx)
        await finalizeResponse(ctx, async () => {
          ctx.body = 'the same '.repeat(1_000)
        })
        return ctx.body
      }
      const first = await answer()
      expect(first).to.be.instanceOf(Buffer)
      expect((await answer()) === first).to.equal(true)
    })
  }
})
