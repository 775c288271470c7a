import { z } from 'zod'
import { PARAMETER_STYLES } from '../../../../core/plugin/upstreams.ts'

const styleFields = {
  style: z.enum(PARAMETER_STYLES).optional(),
  explode: z.boolean().optional(),
}
const mediaType = z
  .string()
  .max(200)
  .regex(/^[\w.+-]+\/[\w.+-]+(?:;[ \w=.+"-]*)?$/, 'must be a media type')
/** Serialization of requests, in the terms of OpenAPI. */
export const EncodingField = z.strictObject({
  parameters: z
    .record(
      z.string().max(200),
      z.strictObject({
        name: z.string().min(1).max(200).optional(),
        style: styleFields.style.unwrap(),
        explode: z.boolean(),
      }),
    )
    .optional(),
  bodyMember: z.string().min(1).max(200).optional(),
  omitsEmptyBody: z.boolean().optional(),
  contentType: mediaType.optional(),
  parts: z
    .record(
      z.string().max(200),
      z.strictObject({
        ...styleFields,
        contentType: mediaType.optional(),
        binary: z.boolean().optional(),
      }),
    )
    .optional(),
})
