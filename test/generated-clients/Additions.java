import com.google.gson.Gson;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import commerce.ApiClient;
import commerce.ApiException;
import commerce.ApiResponse;
import commerce.JSON;
import java.io.File;
import java.io.InputStreamReader;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Parameter;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

/** Calls every operation with the Java client of OpenAPI Generator, and prints the results as JSON. */
class Additions {
  public static void main(String[] arguments) throws Exception {
    var job = JsonParser.parseReader(new InputStreamReader(System.in)).getAsJsonObject();
    List<Map<String, Object>> results = new ArrayList<>();
    for (var url : job.getAsJsonArray("urls")) {
      var client = new ApiClient().setBasePath(url.getAsString());
      Map<String, Object> ofServer = new LinkedHashMap<>();
      for (var element : job.getAsJsonArray("calls")) {
        var call = element.getAsJsonObject();
        ofServer.put(call.get("operation").getAsString(), result(call, client));
      }
      results.add(ofServer);
    }
    System.out.println(new Gson().toJson(results));
    System.exit(0); // The idle connections of OkHttp would keep the process for minutes.
  }

  private static Map<String, Object> result(JsonObject call, ApiClient client) throws Exception {
    var tag = call.get("tag").getAsString();
    var type = Class.forName("commerce.api." + tag.substring(0, 1).toUpperCase() + tag.substring(1) + "Api");
    var api = type.getConstructor(ApiClient.class).newInstance(client);
    var request = methodOf(type, call.get("operation").getAsString());
    List<Object> values = new ArrayList<>();
    for (var parameter : request.getParameters()) values.add(valueOf(parameter, call));
    try {
      var builder = request.invoke(api, values.toArray());
      var response = (ApiResponse<?>) methodOf(builder.getClass(), "executeWithHttpInfo").invoke(builder);
      var body = response.getData();
      return body == null
          ? Map.of("status", response.getStatusCode())
          : Map.of("status", response.getStatusCode(), "body", JSON.getGson().toJsonTree(body));
    } catch (InvocationTargetException failed) {
      // Other exceptions have no response, or one that could not be read.
      return failed.getCause() instanceof ApiException error && error.getCause() == null
          ? Map.of("status", error.getCode(), "body", JsonParser.parseString(error.getResponseBody()))
          : Map.of("thrown", failed.getCause().toString());
    }
  }

  private static Method methodOf(Class<?> type, String name) {
    var method = Stream.of(type.getMethods()).filter(one -> one.getName().equals(name)).findFirst().orElseThrow();
    method.setAccessible(true);
    return method;
  }

  private static Object valueOf(Parameter parameter, JsonObject call) throws Exception {
    for (var entry : call.getAsJsonObject("parameters").entrySet())
      if (plain(entry.getKey()).equals(plain(parameter.getName()))) return entry.getValue().getAsString();
    JsonElement body = call.get("body");
    if (parameter.getType() != File.class) return JSON.getGson().fromJson(body, parameter.getType());
    var file = File.createTempFile("rows", ".csv");
    file.deleteOnExit();
    Files.writeString(file.toPath(), body.getAsString());
    return file;
  }

  private static String plain(String name) {
    return name.toLowerCase().replaceAll("[^a-z0-9]", "");
  }
}
