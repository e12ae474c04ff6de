// A whole run with nothing but Go's standard library, 1.19 or newer:
//
//	go build client.go && ./client URL TEAM PASSWORD_FILE [FIRST_IMAGE]
package main

import (
	"archive/zip"
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

const (
	batch        = 50 // images a request, fetched while the detector works on those before
	postEvery    = 20 // images a POST; near the end of the window each image is posted at once
	nearEnd      = 5 * time.Second
	reach        = 30 * time.Second // how long to try to reach the referee before the window is known
	timeout      = 30 * time.Second // of a request; the log-in and the log-out wait for the meter
	longestPause = 5 * time.Second
)

// Box is what a detector finds: a category's id, a confidence and inclusive pixel corners.
type Box struct{ Category, Confidence, Xmin, Ymin, Xmax, Ymax float32 }

// detect is what a team replaces. This one reports one object of the first category, as large as the image, whose
// size it reads in the JPEG header.
func detect(jpeg []byte, categories []Category) ([]Box, error) {
	for at := 2; at+9 <= len(jpeg); {
		marker, length := jpeg[at+1], int(binary.BigEndian.Uint16(jpeg[at+2:]))
		switch {
		case marker == 0xFF: // a fill byte
			at++
		case marker >= 0xC0 && marker <= 0xCF && marker != 0xC4 && marker != 0xC8 && marker != 0xCC:
			height, width := binary.BigEndian.Uint16(jpeg[at+5:]), binary.BigEndian.Uint16(jpeg[at+7:])
			return []Box{{categories[0].ID, 0.5, 0, 0, float32(width) - 1, float32(height) - 1}}, nil
		default:
			at += 2 + length
		}
	}
	return nil, errors.New("not a JPEG file: it has no frame header")
}

// Category is one of the contest's.
type Category struct {
	ID   float32
	Name string
}

// Session is what the referee says at the log-in.
type Session struct {
	Token      string
	Run        json.Number
	Images     int
	Categories []Category
}

// Refusal is a problem document of the referee, or why no answer came.
type Refusal struct {
	Code, Detail string
	again        time.Duration // when to ask again; 0: after any pause, less: never
}

func (r *Refusal) Error() string { return r.Code + ": " + r.Detail }

// Referee is where a run takes place; goroutines share its kept-alive connections and what it knows of the window.
type Referee struct {
	url, token string
	client     http.Client
	end        atomic.Int64 // of the window: nanoseconds since started, whatever is done to the board's clock
}

var started = time.Now()

func (r *Referee) left() time.Duration        { return time.Duration(r.end.Load()) - time.Since(started) }
func (r *Referee) setLeft(left time.Duration) { r.end.Store(int64(time.Since(started) + left)) }

// ask returns the body of the answer. It repeats the request as long as the window lasts, where that can help.
func (r *Referee) ask(method, path string, body []byte, header map[string]string) ([]byte, error) {
	pause, said := 100*time.Millisecond, ""
	for {
		content, refusal := r.attempt(method, path, body, header)
		if refusal == nil {
			return content, nil
		}
		if refusal.again == 0 {
			refusal.again = pause
			if pause *= 2; pause > longestPause {
				pause = longestPause
			}
		}
		if refusal.again < 0 || r.left() < refusal.again {
			return nil, refusal
		}
		if refusal.Error() != said {
			said = refusal.Error()
			log.Print(said)
		}
		time.Sleep(refusal.again)
	}
}

func (r *Referee) attempt(method, path string, body []byte, header map[string]string) ([]byte, *Refusal) {
	request, err := http.NewRequest(method, r.url+path, bytes.NewReader(body))
	if err != nil {
		return nil, &Refusal{Code: "bad-url", Detail: err.Error(), again: -1}
	}
	request.Header.Set("Authorization", "Bearer "+r.token)
	for name, value := range header {
		request.Header.Set(name, value)
	}
	answer, err := r.client.Do(request)
	if err != nil {
		return nil, &Refusal{Code: "no-answer", Detail: err.Error()}
	}
	defer answer.Body.Close()
	content, err := io.ReadAll(answer.Body)
	if err != nil {
		return nil, &Refusal{Code: "no-answer", Detail: err.Error()}
	}
	if left, err := strconv.Atoi(answer.Header.Get("X-Window-Remaining-Ms")); err == nil {
		r.setLeft(time.Duration(left) * time.Millisecond)
	}
	if answer.StatusCode < 300 {
		return content, nil
	}
	refusal := &Refusal{}
	if json.Unmarshal(content, refusal) != nil || refusal.Code == "" {
		refusal = &Refusal{Code: "not-a-referee", Detail: r.url + " answered " + answer.Status}
	}
	if after, err := strconv.Atoi(answer.Header.Get("Retry-After")); err == nil {
		refusal.again = time.Duration(after) * time.Second
	} else if answer.StatusCode != http.StatusBadGateway && answer.StatusCode != http.StatusGatewayTimeout {
		refusal.again = -1
	}
	return nil, refusal
}

// login opens the team's run, waiting until it is armed and started.
func (r *Referee) login(team, password string) (session Session, err error) {
	body, _ := json.Marshal(map[string]string{"team": team, "password": password})
	for waiting := false; ; waiting = true {
		r.setLeft(reach)
		content, err := r.ask("POST", "/v1/session", body, nil)
		var refusal *Refusal
		if errors.As(err, &refusal) && (refusal.Code == "not-armed" || refusal.Code == "not-started") {
			if !waiting {
				log.Print(err, " Waiting; Ctrl-C ends it.")
			}
			time.Sleep(time.Second)
			continue
		}
		if err == nil {
			err = json.Unmarshal(content, &session)
		}
		r.token = session.Token
		return session, err
	}
}

// fetch sends the images from first to last, at most a batch ahead of who receives them.
func (r *Referee) fetch(first, last int, images chan<- []byte) error {
	defer close(images)
	for first <= last {
		content, err := r.ask("GET", fmt.Sprintf("/v1/images?first=%d&count=%d", first, batch), nil, nil)
		if err != nil {
			return err
		}
		archive, err := zip.NewReader(bytes.NewReader(content), int64(len(content)))
		if err != nil {
			return err
		}
		for ; len(archive.File) > 0; archive.File = archive.File[1:] {
			jpeg, err := archive.Open(fmt.Sprintf("%d.jpg", first))
			if err != nil {
				return err
			}
			content, err := io.ReadAll(jpeg) // checks its CRC
			if err != nil {
				return err
			}
			images <- content
			first++
		}
	}
	return nil
}

// post hands in packed rows; by their key they count once, however often they are sent.
func (r *Referee) post(rows []byte) error {
	key := make([]byte, 16)
	if _, err := rand.Read(key); err != nil {
		return err
	}
	header := map[string]string{"Content-Type": "application/octet-stream", "Idempotency-Key": fmt.Sprintf("%x", key)}
	content, err := r.ask("POST", "/v1/detections", rows, header)
	if err != nil {
		return err
	}
	receipt := struct {
		SHA256   string
		Warnings []string
	}{}
	if err := json.Unmarshal(content, &receipt); err != nil {
		return err
	}
	if receipt.SHA256 != fmt.Sprintf("%x", sha256.Sum256(rows)) {
		return errors.New("the referee received other bytes than were sent")
	}
	if receipt.Warnings != nil {
		log.Printf("warning: %s", receipt.Warnings)
	}
	return nil
}

// run answers all images from first on, and logs out; done is the last image whose rows are posted.
func (r *Referee) run(team, password string, first int) (done int, err error) {
	done = first - 1
	session, err := r.login(team, password)
	if err != nil {
		return done, err
	}
	log.Printf("run %s: %d images in %.0f s", session.Run, session.Images, r.left().Seconds())
	var rows bytes.Buffer
	images, fetched := make(chan []byte, batch), make(chan error, 1)
	go func() { fetched <- r.fetch(first, session.Images, images) }()
	for jpeg := range images {
		boxes, err := detect(jpeg, session.Categories)
		if err != nil {
			return done, fmt.Errorf("image %d: %w", first, err)
		}
		for _, box := range boxes {
			binary.Write(&rows, binary.LittleEndian, float32(first))
			binary.Write(&rows, binary.LittleEndian, box)
		}
		if first-done >= postEvery || first == session.Images || r.left() < nearEnd {
			if err := r.post(rows.Bytes()); err != nil {
				return done, err
			}
			rows.Reset()
			done = first
			log.Printf("image %d of %d, %.0f s left", done, session.Images, r.left().Seconds())
		}
		first++
	}
	if err := <-fetched; err != nil {
		return done, err
	}
	content, err := r.ask("DELETE", "/v1/session", nil, nil)
	if err != nil {
		return done, err
	}
	closed := map[string]any{}
	if err := json.Unmarshal(content, &closed); err != nil {
		return done, err
	}
	log.Printf("logged out after %v s; %v Wh", closed["elapsed_s"], closed["energy_wh"])
	return done, nil
}

func main() {
	log.SetFlags(0)
	log.SetPrefix("client: ")
	arguments := append(os.Args[1:], "1")
	if len(arguments) < 4 {
		log.Fatal("usage: client URL TEAM PASSWORD_FILE [FIRST_IMAGE]")
	}
	password, err := os.ReadFile(arguments[2])
	if err != nil {
		log.Fatal(err)
	}
	first, err := strconv.Atoi(arguments[3])
	if err != nil {
		log.Fatal(err)
	}
	// A transport of its own uses no proxy: the referee is in the same hall.
	referee := Referee{url: arguments[0], client: http.Client{Timeout: timeout, Transport: &http.Transport{}}}
	line, _, _ := strings.Cut(string(password), "\n")
	done, err := referee.run(arguments[1], line, first)
	var refusal *Refusal
	switch {
	case err == nil:
	case errors.As(err, &refusal) && refusal.Code == "window-closed":
		log.Print(err)
	case referee.token == "":
		log.Fatal(err)
	default:
		log.Fatalf("%v\nThe run stays open: while its window lasts, FIRST_IMAGE %d continues", err, done+1)
	}
}
