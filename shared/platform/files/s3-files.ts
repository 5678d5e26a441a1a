import { Readable } from 'node:stream'
import { AbortMultipartUploadCommand, GetObjectCommand, S3Client } from '@aws-sdk/client-s3'
import { Upload } from '@aws-sdk/lib-storage'
import { getSignedUrl } from '@aws-sdk/s3-request-presigner'
import { Failure, fail } from '../errors/failure.ts'
import type { Budget } from '../limits/budget.ts'
import type { FileStore } from './file-store.ts'

/** The smallest part that S3 takes, in bytes, and how many are under way at once: what a file holds in memory. */
const partBytes = 5 * 1024 * 1024
const partsAtOnce = 2
/** A request that has spent its budget has little more than a second left before the function is stopped. */
const cleanUpMilliseconds = 1000

let client: S3Client | undefined

/** Opens a bucket for one request: each call ends with the request's budget at the latest. */
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
        // It would forget the parts when the last call fails, and try to delete them within a spent budget.
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

/** The client of this process, made at its first use. */
function s3Client(): S3Client {
  client ??= new S3Client({
    maxAttempts: 3,
    requestHandler: { connectionTimeout: 1000, requestTimeout: 5000, throwOnRequestTimeout: true },
    // The signature of each part covers its SHA-256 already.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    // Waiting to be told to go on takes each part a round trip, and in this SDK a connection of its own.
    expectContinueHeader: false,
  })
  return client
}

/** The client with the budget's end on each call, as an upload has no way to pass it on. */
function clientWithin({ signal }: Budget): S3Client {
  const whole = s3Client()
  const send = (command: Parameters<S3Client['send']>[0]) => whole.send(command, { abortSignal: signal })
  return Object.create(whole, { send: { value: send } })
}

/** Deletes the parts of a file that was not finished. What is left after a failure of this, the bucket deletes. */
async function discard(unfinished: { Bucket: string; Key: string; UploadId: string | undefined }) {
  if (unfinished.UploadId === undefined) return
  const abortSignal = AbortSignal.timeout(cleanUpMilliseconds)
  await s3Client()
    .send(new AbortMultipartUploadCommand(unfinished), { abortSignal })
    .catch(() => {})
}
