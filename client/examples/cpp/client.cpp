// A whole run in C++17 with libcurl:
//
//     g++ -std=c++17 -O2 client.cpp -o client -lcurl -pthread && ./client URL TEAM PASSWORD_FILE [FIRST_IMAGE]

#include <curl/curl.h>

#include <algorithm>
#include <atomic>
#include <cctype>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <future>
#include <iostream>
#include <map>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "rows are sent, and zips are read, as they are in memory");

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr int batch = 50;       // images a request, fetched while the detector works on those before
constexpr int post_every = 20;  // images a POST; near the end of the window each image is posted at once
constexpr milliseconds near_end{5'000};
constexpr milliseconds reach{30'000};  // how long to try to reach the referee before the window is known
constexpr milliseconds longest_pause{5'000};
constexpr milliseconds never{-1}, after_a_pause{0};

struct Row {  // as the referee takes it: seven packed float32; the corners are inclusive pixels
    float image, category, confidence, xmin, ymin, xmax, ymax;
};

// What a team replaces. This one reports one object of the first category, as large as the image, whose size it reads
// in the JPEG header.
std::vector<Row> detect(int image, const std::string& jpeg, int first_category) {
    const auto number = [&](std::size_t at) {  // .at() throws where a file without a frame header ends
        return static_cast<unsigned char>(jpeg.at(at)) << 8 | static_cast<unsigned char>(jpeg.at(at + 1));
    };
    for (std::size_t at = 2;;) {
        const int marker = number(at) & 0xFF;
        if (marker >= 0xC0 && marker <= 0xCF && marker != 0xC4 && marker != 0xC8 && marker != 0xCC) {
            const auto height = static_cast<float>(number(at + 5)), width = static_cast<float>(number(at + 7));
            return {{float(image), float(first_category), 0.5F, 0, 0, width - 1, height - 1}};
        }
        at += marker == 0xFF ? 1 : 2 + number(at + 2);  // 0xFF: a fill byte
    }
}

// The value of a member of a JSON document, as text; it takes the first of that name, which the referee's answers allow.
std::string member(const std::string& json, const std::string& name) {
    auto at = json.find("\"" + name + "\"");
    if (at == std::string::npos) return "";
    at = json.find_first_not_of(": ", at + name.size() + 2);
    if (json.at(at) != '"') return json.substr(at, json.find_first_of(",}]", at) - at);
    std::string text;
    while (json.at(++at) != '"') text += json[at] == '\\' ? json.at(++at) : json[at];
    return text;
}

std::string quoted(const std::string& text) {
    std::string json = "\"";
    for (const char one : text) json += (one == '"' || one == '\\' ? "\\" : "") + std::string(1, one);
    return json + "\"";
}

struct Refused : std::runtime_error {
    std::string code;
    milliseconds again;
    Refused(const std::string& its_code, const std::string& detail, milliseconds when)
        : std::runtime_error(its_code + ": " + detail), code(its_code), again(when) {}
};

class Window {  // when the run ends, by the referee's latest answer
    std::atomic<Clock::rep> end_;

public:
    Window() { set(reach); }
    void set(milliseconds left) { end_ = (Clock::now() + left).time_since_epoch().count(); }
    milliseconds left() const {
        return std::chrono::duration_cast<milliseconds>(Clock::duration(end_) - Clock::now().time_since_epoch());
    }
};

class Referee {  // one kept-alive connection, of one thread at a time
    std::string url_, token_, content_;
    std::map<std::string, std::string> fields_;  // of the answer's head, their names in lower case
    Window& window_;
    std::unique_ptr<CURL, decltype(&curl_easy_cleanup)> curl_{curl_easy_init(), curl_easy_cleanup};

    static std::size_t take_content(char* data, std::size_t, std::size_t size, Referee* referee) {
        referee->content_.append(data, size);
        return size;
    }

    static std::size_t take_field(char* data, std::size_t, std::size_t size, Referee* referee) {
        const std::string line(data, size);
        const auto colon = line.find(':');
        std::string name = line.substr(0, colon);
        for (char& one : name) one = static_cast<char>(std::tolower(static_cast<unsigned char>(one)));
        if (colon != std::string::npos) referee->fields_[name] = line.substr(colon + 1);
        return size;
    }

    void attempt(const char* method, const std::string& address, const std::string& body, curl_slist* headers) {
        CURL* curl = curl_.get();
        content_.clear();
        fields_.clear();
        curl_easy_reset(curl);  // keeps the connection
        curl_easy_setopt(curl, CURLOPT_URL, address.c_str());
        curl_easy_setopt(curl, CURLOPT_NOPROXY, "*");  // the referee is in the same hall
        if (const char* trusted = std::getenv("SSL_CERT_FILE")) curl_easy_setopt(curl, CURLOPT_CAINFO, trusted);
        curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
        curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT, 5L);
        curl_easy_setopt(curl, CURLOPT_LOW_SPEED_LIMIT, 1L);
        curl_easy_setopt(curl, CURLOPT_LOW_SPEED_TIME, 30L);  // the log-in and the log-out wait for the meter
        curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
        curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, take_field);
        curl_easy_setopt(curl, CURLOPT_HEADERDATA, this);
        curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, take_content);
        curl_easy_setopt(curl, CURLOPT_WRITEDATA, this);
        if (!body.empty()) {
            curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE, static_cast<long>(body.size()));
            curl_easy_setopt(curl, CURLOPT_POSTFIELDS, body.data());
        }
        curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, method);
        const CURLcode failure = curl_easy_perform(curl);
        if (failure != CURLE_OK) throw Refused("no-answer", url_ + ": " + curl_easy_strerror(failure), after_a_pause);
        const auto left = fields_.find("x-window-remaining-ms"), after = fields_.find("retry-after");
        if (left != fields_.end()) window_.set(milliseconds(std::stoll(left->second)));
        long status = 0;
        curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
        if (status < 300) return;
        milliseconds again = status == 502 || status == 504 ? after_a_pause : never;
        if (after != fields_.end()) again = std::chrono::seconds(std::stoll(after->second));
        const auto code = member(content_, "code");
        if (code.empty()) throw Refused("not-a-referee", url_ + " answered status " + std::to_string(status), again);
        throw Refused(code, member(content_, "detail"), again);
    }

public:
    Referee(std::string url, Window& window, std::string token = "")
        : url_(std::move(url)), token_(std::move(token)), window_(window) {}

    // Returns the body of the answer; asks again as long as the window lasts, where that can help. Throws Refused.
    const std::string& ask(const char* method, const std::string& path, const std::string& body = "",
                           std::vector<std::string> fields = {}) {
        fields.push_back("Authorization: Bearer " + token_);
        std::unique_ptr<curl_slist, decltype(&curl_slist_free_all)> headers{nullptr, curl_slist_free_all};
        for (const auto& one : fields) headers.reset(curl_slist_append(headers.release(), one.c_str()));
        std::string said;
        for (milliseconds pause{100};; pause = std::min(2 * pause, longest_pause)) {
            try {
                attempt(method, url_ + path, body, headers.get());
                return content_;
            } catch (const Refused& refused) {
                const auto wait = refused.again == after_a_pause ? pause : refused.again;
                if (refused.again == never || window_.left() < wait) throw;
                if (said != refused.what()) std::cerr << "client: " << (said = refused.what()) << std::endl;
                std::this_thread::sleep_for(wait);
            }
        }
    }

    // Opens the team's run, waiting until it is armed and started; returns the referee's answer. Throws Refused.
    std::string login(const std::string& team, const std::string& password) {
        const auto body = "{\"team\": " + quoted(team) + ", \"password\": " + quoted(password) + "}";
        for (bool said = false;; said = true) {
            try {
                return ask("POST", "/v1/session", body, {"Content-Type: application/json"});
            } catch (const Refused& refused) {
                if (refused.code != "not-armed" && refused.code != "not-started") throw;
                if (!said) std::cerr << "client: " << refused.what() << " Waiting; Ctrl-C ends it." << std::endl;
            }
            std::this_thread::sleep_for(std::chrono::seconds(1));
            window_.set(reach);
        }
    }

    // Returns a batch of JPEG files: the entries of a zip without compression. Throws Refused.
    std::vector<std::string> fetch(int first) {
        const auto& zip = ask("GET", "/v1/images?first=" + std::to_string(first) + "&count=" + std::to_string(batch));
        std::vector<std::string> images;
        for (std::size_t at = 0; zip.compare(at, 4, "PK\3\4") == 0;) {
            std::uint32_t size;
            std::uint16_t lengths[2];  // of the entry's name and of its extra field
            std::memcpy(&size, &zip.at(at + 18), sizeof size);
            std::memcpy(&lengths, &zip.at(at + 26), sizeof lengths);
            at += 30 + lengths[0] + lengths[1];
            images.push_back(zip.substr(at, size));
            at += size;
        }
        if (images.empty()) throw Refused("bad-batch", "the answer is not a zip of images", never);
        return images;
    }

    // Hands in rows; by their key they count once, however often they are sent. Throws Refused.
    void post(const std::vector<Row>& rows) {
        if (rows.empty()) return;
        static std::random_device random;
        const auto key = std::to_string(random()) + "-" + std::to_string(random()) + "-" + std::to_string(random());
        const std::string body(reinterpret_cast<const char*>(rows.data()), rows.size() * sizeof(Row));
        const auto& receipt = ask("POST", "/v1/detections", body,
                                  {"Content-Type: application/octet-stream", "Idempotency-Key: " + key, "Expect:"});
        if (member(receipt, "accepted") != std::to_string(rows.size()))  // a sum of its own would need a library
            throw Refused("altered-on-the-way", "the referee did not receive the rows that were sent", never);
        if (const auto at = receipt.find("\"warnings\""); at != std::string::npos)
            std::cerr << "client: " << receipt.substr(at) << std::endl;
    }
};

// Answers all images from `first` on, and logs out. From the log-in on, `done` is the last image whose rows are posted.
// Throws Refused.
void run(const std::string& url, const std::string& team, const std::string& password, int first, int& done) {
    Window window;
    const auto session = Referee(url, window).login(team, password);
    const int last = std::stoi(member(session, "images"));
    done = first - 1;
    const int category = std::stoi(member(session.substr(session.find("\"categories\"")), "id"));
    Referee fetching(url, window, member(session, "token")), posting(url, window, member(session, "token"));
    std::cerr << "client: run " << member(session, "run") << ": " << last << " images" << std::endl;
    std::vector<Row> rows;
    const auto ahead = [&](int from) { return std::async(std::launch::async, &Referee::fetch, &fetching, from); };
    std::future<std::vector<std::string>> next;
    if (first <= last) next = ahead(first);
    while (first <= last) {
        const auto images = next.get();
        if (const int after = first + static_cast<int>(images.size()); after <= last) next = ahead(after);
        for (const auto& jpeg : images) {
            for (const auto& row : detect(first, jpeg, category)) rows.push_back(row);
            if (first - done >= post_every || first == last || window.left() < near_end) {
                posting.post(rows);
                rows.clear();
                done = first;
                std::cerr << "client: image " << done << " of " << last << ", " << window.left().count() / 1000
                          << " s left" << std::endl;
            }
            ++first;
        }
    }
    const auto& closed = posting.ask("DELETE", "/v1/session");
    std::cerr << "client: logged out after " << member(closed, "elapsed_s") << " s; " << member(closed, "energy_wh")
              << " Wh" << std::endl;
}

int main(int count, char** words) {
    std::string password;
    if (count < 4 || !std::getline(std::ifstream(words[3]), password)) {
        std::cerr << "usage: client URL TEAM PASSWORD_FILE [FIRST_IMAGE]; the file's first line is the password\n";
        return 2;
    }
    curl_global_init(CURL_GLOBAL_DEFAULT);
    int done = -1;
    try {
        run(words[1], words[2], password, count > 4 ? std::atoi(words[4]) : 1, done);
    } catch (const std::exception& failure) {
        std::cerr << "client: " << failure.what() << '\n';
        const auto* refused = dynamic_cast<const Refused*>(&failure);
        if (refused && refused->code == "window-closed") return 0;
        if (done >= 0)
            std::cerr << "The run stays open: while its window lasts, FIRST_IMAGE " << done + 1 << " continues\n";
        return 1;
    }
}
