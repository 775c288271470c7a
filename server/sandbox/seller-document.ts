import { decimal } from '../../core/money.ts'
import { ROUTES } from './seller-routes.ts'

/** OpenAPI document of the sample seller, with the `x-payment-info` that crawlers read. */
export const sellerDocument = () => ({
  openapi: '3.1.0',
  info: { title: 'Sample seller', version: '1.0.0' },
  paths: Object.fromEntries(
    Object.entries(ROUTES).map(([route, { name, description, price, input, output }]) => {
      const [method = '', path = ''] = route.split(' ')
      const operation = {
        summary: name,
        description,
        ...input,
        'x-payment-info': {
          price: { mode: 'fixed', currency: 'USD', amount: decimal(price) },
          protocols: [{ x402: {} }],
        },
        responses: {
          200: { description: 'Paid.', content: { 'application/json': { schema: output } } },
          402: { description: 'The offer.' },
        },
      }
      return [path, { [method.toLowerCase()]: operation }]
    }),
  ),
})
