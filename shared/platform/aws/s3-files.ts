import { Readable } from 'node:stream'
import { AbortMultipartUploadCommand, GetObjectCommand, S3Client } from '@aws-sdk/client-s3'
import { Upload } from '@aws-sdk/lib-storage'
import { getSignedUrl } from '@aws-sdk/s3-request-presigner'
import { NodeHttpHandler } from '@smithy/node-http-handler'
import { lazy } from '../base/cached-load.ts'
import type { Budget } from '../base/clock.ts'
import { Failure, fail } from '../base/failure.ts'
import type { FileStore } from '../formats/file-store.ts'

/** The smallest part that S3 accepts, in bytes, and the number of concurrent parts: the memory that a file needs. */
const partBytes = 5 * 1024 * 1024
const partsAtOnce = 2
/** A request without budget has little more than a second left before the function is stopped. */
const cleanUpMilliseconds = 1000

/** Opens a bucket for one request. No call outlasts the request's budget. */
export function s3Files(bucket: string, budget: Budget): FileStore {
  return {
    async write(key, chunks, mediaType) {
      let ofChunks: unknown
      async function* untilSpent() {
        try {
          for await (const chunk of chunks) {
            budget.check()
            yield chunk
          }
        } catch (thrown) {
          ofChunks = thrown
          throw thrown
        }
      }
      const upload = new Upload({
        client: clientWithin(budget),
        params: { Bucket: bucket, Key: key, Body: Readable.from(untilSpent()), ContentType: mediaType },
        partSize: partBytes,
        queueSize: partsAtOnce,
        // Otherwise Upload forgets the parts when the last call fails, and deletes them within a spent budget.
        leavePartsOnError: true,
      })
      try {
        await upload.done()
      } catch (thrown) {
        await discard({ Bucket: bucket, Key: key, UploadId: upload.uploadId })
        if (thrown === ofChunks) throw thrown
        throw fail(budget.signal.aborted ? 'DEPENDENCY.timeout' : 'DEPENDENCY.unavailable', { cause: thrown })
      }
    },

    async *read(key, range) {
      const command = new GetObjectCommand({
        Bucket: bucket,
        Key: key,
        ...(range && { Range: `bytes=${range.from}-${range.to - 1}` }),
      })
      try {
        budget.check()
        const { Body } = await s3Client().send(command, { abortSignal: budget.signal })
        for await (const chunk of Body as Readable) {
          budget.check()
          yield chunk as Uint8Array
        }
      } catch (thrown) {
        if (thrown instanceof Failure) throw thrown
        throw fail(budget.signal.aborted ? 'DEPENDENCY.timeout' : 'DEPENDENCY.unavailable', { cause: thrown })
      }
    },

    link(key, { fileName, mediaType, seconds }) {
      const command = new GetObjectCommand({
        Bucket: bucket,
        Key: key,
        ResponseContentDisposition: `attachment; filename="${fileName.replace(/["\\]/g, '\\$&')}"`,
        ResponseContentType: mediaType,
      })
      return getSignedUrl(s3Client(), command, { expiresIn: seconds })
    },
  }
}

const s3Client = lazy(
  () =>
    new S3Client({
      maxAttempts: 3,
      requestHandler: new NodeHttpHandler({
        connectionTimeout: 1000,
        requestTimeout: 5000,
        throwOnRequestTimeout: true,
      }),
      // The signature of each part already covers its SHA-256.
      requestChecksumCalculation: 'WHEN_REQUIRED',
      responseChecksumValidation: 'WHEN_REQUIRED',
      // Waiting for 100 Continue costs each part a round trip and, in this SDK, a separate connection.
      expectContinueHeader: false,
    }),
)

/** Returns the client with the budget's signal on each call, as Upload cannot pass it on. */
function clientWithin({ signal }: Budget): S3Client {
  const whole = s3Client()
  const send = (command: Parameters<S3Client['send']>[0]) => whole.send(command, { abortSignal: signal })
  return Object.create(whole, { send: { value: send } })
}

/** Deletes the parts of an unfinished file. If this fails, a lifecycle rule of the bucket deletes them. */
async function discard(unfinished: { Bucket: string; Key: string; UploadId: string | undefined }) {
  if (unfinished.UploadId === undefined) return
  const abortSignal = AbortSignal.timeout(cleanUpMilliseconds)
  await s3Client()
    .send(new AbortMultipartUploadCommand(unfinished), { abortSignal })
    .catch(() => {})
}
