/** 32-bit FNV-1a over the UTF-16 units of a text; `from` continues a previous hash. */
export const hash = (text: string, from = 0x81_1c_9d_c5 | 0): number => {
  let value = from
  for (let at = 0; at < text.length; at += 1) {
    value = Math.imul(value ^ text.charCodeAt(at), 0x01_00_01_93)
  }
  return value
}

/** Combines two numbers to one, spread over 32 bits. */
export const mix = (left: number, right: number): number => {
  let value = Math.imul(left + 0x7f_4a_7c_15, 0x9e_37_79_b1) ^ right
  value = Math.imul(value ^ (value >>> 16), 0x85_eb_ca_6b)
  value = Math.imul(value ^ (value >>> 13), 0xc2_b2_ae_35)
  return value ^ (value >>> 16)
}
