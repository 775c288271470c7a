import { expect } from 'chai'
import { json, useUpstream } from './fixture.ts'

const INPUT = {
  type: 'object',
  properties: {
    title: { type: 'string' },
    count: { type: 'integer' },
    tags: { type: 'array', items: { type: 'string' } },
    point: { type: 'object', properties: { x: { type: 'number' }, y: { type: 'number' } } },
    file: { type: 'string' },
  },
  required: ['title'],
  additionalProperties: false,
}

describe('an endpoint with a form body', () => {
  const world = useUpstream()
  const { answers, sell, seen } = world

  const post = (
    slug: string,
    body: string | FormData | URLSearchParams,
    headers: Readonly<Record<string, string>> = {},
  ) =>
    fetch(`${world.hub.url}/proxy/${slug}/do`, {
      method: 'POST',
      headers: { 'x-api-key': world.payer.apiKey, ...headers },
      body,
    })

  it('takes the form that its API takes, with the types of its schema', async () => {
    const slug = await sell([{ path: '/do', body: 'form', input_schema: INPUT }])
    answers(json({ ok: true }))
    const form = new URLSearchParams('title=007&count=3&tags=a%2Cb&tags=c&point={"x":1.5,"y":2}')
    const response = await post(slug, form)
    expect(response.status, await response.text()).to.equal(200)
    const sent = new URLSearchParams(seen.at(-1)!.body)
    expect([...sent]).to.deep.equal([...form])
    const document = await fetch(`${world.hub.url}/v1/services/${slug}/openapi.json`)
    const text = await document.text()
    expect(text).to.include('application/x-www-form-urlencoded')
    const asJson = await post(slug, JSON.stringify({ title: 'b' }), {
      'content-type': 'application/json',
    })
    expect(asJson.status).to.equal(200)
  })

  it('takes a multipart form, the bytes of its files included', async () => {
    const encoding = { parts: { file: { binary: true } } }
    const slug = await sell([{ path: '/do', body: 'multipart', input_schema: INPUT, encoding }])
    answers(json({ ok: true }))
    const form = new FormData()
    form.set('title', 'a "b"')
    form.set('point', '{"x":1,"y":2}')
    form.set('file', new Blob([new Uint8Array([65, 66, 67])]), 'abc.bin')
    const response = await post(slug, form)
    expect(response.status, await response.text()).to.equal(200)
    const { body, headers } = seen.at(-1)!
    expect(headers['content-type']).to.match(/^multipart\/form-data; boundary=/)
    expect(body).to.include('\r\n\r\na "b"\r\n').and.to.include('\r\n\r\nABC\r\n')
    expect(body).to.include('{"x":1,"y":2}')
  })

  it('refuses, uncharged, a form that breaks its schema or has too many fields', async () => {
    const slug = await sell([{ path: '/do', body: 'form', input_schema: INPUT }])
    for (const [form, code] of [
      ['title=a&count=many', 'validation_failed'],
      ['count=1', 'validation_failed'],
      ['title=a&__proto__=1', 'validation_failed'],
      [Array.from({ length: 1_001 }, (_, i) => `f${i}=1`).join('&'), 'body_too_large'],
    ] as const) {
      const response = await post(slug, new URLSearchParams(form))
      const problem = (await response.json()) as { code: string; charged_microdollars: number }
      expect([problem.code, problem.charged_microdollars], form.slice(0, 40)).to.deep.equal([
        code,
        0,
      ])
    }
    const field = '--y\r\nContent-Disposition: form-data; name="title"\r\n\r\na\r\n'
    const many = await post(slug, `${field.repeat(1_001)}--y--`, {
      'content-type': 'multipart/form-data; boundary=y',
    })
    expect(many.status).to.equal(413)
    const bad = await post(slug, '--x\r\nnothing', {
      'content-type': 'multipart/form-data; boundary=y',
    })
    expect([bad.status, ((await bad.json()) as { code: string }).code]).to.deep.equal([
      422,
      'validation_failed',
    ])
  })

  it('is the only one that takes forms: others refuse the media type', async () => {
    const slug = await sell([{ path: '/do', input_schema: INPUT }])
    const response = await post(slug, new URLSearchParams('title=a'))
    expect([response.status, ((await response.json()) as { code: string }).code]).to.deep.equal([
      415,
      'unsupported_media_type',
    ])
  })
})
