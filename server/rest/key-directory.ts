import { z } from 'zod'
import type { RequestSigner } from '../../core/agents/request-signer.ts'
import { DIRECTORY_TYPE } from '../../core/agents/web-bot-auth.ts'
import { type AnyRoute, route } from './route.ts'

const RequestKey = z.object({
  kty: z.literal('OKP'),
  crv: z.literal('Ed25519'),
  kid: z.string().meta({ description: 'JWK thumbprint (RFC 7638): `keyid` of a signature.' }),
  x: z.string(),
  use: z.literal('sig'),
})

/** Keys by which others verify that a request was sent by this hub (Web Bot Auth). */
export const keyDirectoryRoutes = (
  signer: Pick<RequestSigner, 'directory'>,
): readonly AnyRoute[] => [
  route('GET /.well-known/http-message-signatures-directory', {
    summary:
      'Returns the public keys that sign the requests of this hub to other hosts (RFC 9421).',
    auth: 'none',
    shared: true,
    response: {
      status: 200,
      type: DIRECTORY_TYPE,
      schema: z.object({ keys: z.array(RequestKey) }),
    },
    handle: async () => signer.directory(),
  }),
]
