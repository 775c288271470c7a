import { expect } from 'chai'
import { bundleDocuments } from '../../../core/catalog/upstreams/openapi/bundle.ts'
import { DOCUMENT_MAX } from '../../../core/catalog/upstreams/openapi/document-max.ts'
import { EgressError } from '../../../core/egress/errors.ts'
import type { EgressRequest } from '../../../core/egress/http.ts'
import type { ServiceDeps } from '../../../server/rest/provider/services/deps.ts'
import { documentsFrom } from '../../../server/rest/provider/services/documents.ts'

const HOST = 'https://api.acme.com'

/** Fetches from a host that serves these bodies. */
function documentsOf(bodyOf: (request: EgressRequest) => Promise<Buffer>) {
  const request = async (order: EgressRequest) => ({ status: 200, body: await bodyOf(order) })
  const deps = { rules: {}, localOrigins: [], egress: { request } }
  return documentsFrom(deps as unknown as ServiceDeps, '')
}

describe('documents that an OpenAPI document references', () => {
  it('are fetched relative to their own address, and referenced in one document', async () => {
    const fetchedUrls: string[] = []
    const texts = new Map([
      [`${HOST}/v1/a.json`, '{"x": {"$ref": "b/c.yaml#/y"}, "unused": {"$ref": "z.json"}}'],
      [`${HOST}/v1/b/c.yaml`, 'y: { $ref: "#/w" }\nw: { $ref: ../a.json#/x }\n'],
    ])
    const root = { paths: { '/p': { get: { $ref: 'a.json#/x' } } } }
    const made = await bundleDocuments(root, `${HOST}/v1/openapi.json`, async (urls) => {
      fetchedUrls.push(...urls)
      return urls.map((url) => texts.get(url))
    })
    expect(fetchedUrls).to.deep.equal([...texts.keys()])
    expect(made).to.deep.include({ paths: { '/p': { get: { $ref: '#/documents/0/x' } } } })
    expect(made['documents']).to.deep.include({
      1: { y: { $ref: '#/documents/1/w' }, w: { $ref: '#/documents/0/x' } },
    })
  })

  it('are at most 1,000, however many the fetched ones reference', async () => {
    let count = 0
    const refs = Array.from({ length: 1_500 }, (_, n) => ({ $ref: `${HOST}/${n}.json` }))
    const made = await bundleDocuments({ paths: { '/p': refs } }, undefined, async (urls) => {
      count += urls.length
      return urls.map((url) => JSON.stringify({ $ref: `${url}/next` }))
    })
    expect(count).to.equal(1_000)
    expect(Object.keys(made['documents'] as object)).to.have.length(1_000)
  })

  it('have the size of one document in all, also if fetched at the same time', async () => {
    const part = Buffer.alloc(DOCUMENT_MAX / 4, ' ')
    const fetchDocuments = documentsOf(async () => part)
    const urls = Array.from({ length: 10 }, (_, n) => `${HOST}/${n}`)
    const texts = await fetchDocuments(urls)
    expect(texts.filter((text) => text !== undefined)).to.have.length(4)
  })

  it('are not waited for after the deadline of the import', async () => {
    const deadline = new AbortController()
    const fetchDocuments = documentsOf(({ signal }) => {
      deadline.abort()
      if (signal?.aborted) throw new EgressError('upstream_timeout')
      return new Promise(() => undefined)
    })
    expect(await fetchDocuments([`${HOST}/a`], deadline.signal)).to.deep.equal([undefined])
  })
})
